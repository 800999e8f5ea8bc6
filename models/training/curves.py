"""The picture of the training logs for the model card."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

SMOOTH = 15  # neighbouring log entries averaged in the training curve


def read_log(path: Path) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Read training losses (tokens, nats per token) and held-out bits per byte by shard.

    Returns:
        Tokens read (entries,), mean training loss at each (entries,), and for every shard a
        (measurements, 2) array of tokens read and bits per byte.
    """
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    trained = np.array([(e["tokens"], e["loss"]) for e in entries if "loss" in e])
    held_out: dict[str, list[tuple[int, float]]] = {}
    for entry in entries:
        for shard, bits in entry.get("held_out", {}).items():
            held_out.setdefault(shard, []).append((entry["tokens"], bits))
    return trained[:, 0], trained[:, 1], {k: np.array(v) for k, v in held_out.items()}


def draw_curves(logs: Mapping[str, Path], output: Path) -> None:
    """Draw training loss and held-out bits per byte of every model that has a log."""
    from matplotlib.figure import Figure  # not needed by the app itself

    logs = {name: path for name, path in logs.items() if path.exists()}
    figure = Figure(figsize=(4.2 * len(logs), 6.4), layout="constrained")
    axes = figure.subplots(2, len(logs), squeeze=False, sharex="col")
    for column, (name, path) in enumerate(logs.items()):
        tokens, losses, held_out = read_log(path)
        above, below = axes[0][column], axes[1][column]
        above.plot(tokens / 1e6, losses, color="#c9d3e6", linewidth=0.8, label="batch")
        kernel = np.ones(SMOOTH)
        smooth = np.convolve(losses, kernel, "same") / np.convolve(
            np.ones_like(losses), kernel, "same"
        )
        above.plot(tokens / 1e6, smooth, color="#2f5fb3", linewidth=1.6, label="smoothed")
        above.set_title(name)
        above.set_ylim(np.quantile(smooth, 0.01) - 0.3, np.quantile(losses, 0.97))
        for shard, points in held_out.items():
            below.plot(points[:, 0] / 1e6, points[:, 1], marker=".", markersize=3, label=shard)
        below.set_xlabel("million tokens read")
        for axis in (above, below):
            axis.grid(color="#e6e6e6")
            axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("training loss, nats per token")
    axes[1][0].set_ylabel("held out, bits per byte")
    axes[0][0].legend(frameon=False)
    lines, shards = axes[1][0].get_legend_handles_labels()
    figure.legend(lines, shards, loc="outside lower center", ncols=len(shards), frameon=False)
    figure.savefig(output, dpi=110)
