"""The training loop, with checkpoints from which the same command continues."""

import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.training.corpus import HELD_OUT, Windows
from models.training.network import Decoder
from models.training.optimizer import build_optimizers
from models.training.sizes import Recipe, Size

LOG_EVERY = 20  # steps
CHECKPOINT_EVERY = 200
MEASURE_EVERY = 400
HELD_OUT_WINDOWS = 32  # of each validation shard, evenly spread over its documents
HELD_OUT_ROWS = 16  # windows measured at once


@dataclass(frozen=True)
class Progress:
    """Where a run stands; stored in its checkpoint."""

    step: int = 0
    seconds: float = 0.0  # inside the loop, summed over restarts
    best_step: int = 0
    best_bits: float = math.inf  # mean bits per byte over the validation shards


def rate_multiplier(step: int, steps: int, recipe: Recipe) -> float:
    """Warm-up, constant, then linear decay to zero over the last `decay_share` of the steps."""
    warm = (step + 1) / recipe.warmup_steps
    decay = (steps - step) / (recipe.decay_share * steps)
    return min(1.0, warm, decay)


def window_length(step: int, steps: int, recipe: Recipe) -> int:
    """Short windows; while the rate decays, every second step takes long ones."""
    decaying = step >= steps - recipe.decay_share * steps
    return recipe.long_window if decaying and step % 2 else recipe.window


class Trainer:
    """Network, optimizers and data of one run; `step()` is the unit of training.

    Args:
        size: what to train, and how.
        tokens: token files, shard name -> (tokens,).
        device: "cpu" or "cuda".
    """

    def __init__(self, size: Size, tokens: Mapping[str, np.ndarray], device: str):
        self.size = size
        self.device = device
        self.network = Decoder(size.architecture)
        self.network.initialise(size.recipe.seed)
        self.network.to(device)
        self.network.compile_blocks()
        self.optimizers = build_optimizers(self.network, size.recipe)
        self.windows = Windows(tokens, size.recipe.mix, size.recipe.aligned_share, size.recipe.seed)
        self.steps = size.recipe.steps
        self.progress = Progress()

    def step(self) -> Tensor:
        """Train on the next batch; returns its mean loss in nats per token, still on the device."""
        recipe, step = self.size.recipe, self.progress.step
        # 1. Data.
        length = window_length(step, self.steps, recipe)
        batch = self.windows.batch(step, recipe.batch_tokens // length, length)
        ids, targets = (torch.from_numpy(array).to(self.device) for array in batch)
        # 2. Gradients.
        loss = self.network.loss(ids, targets)
        loss.backward()
        # 3. Update.
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * rate_multiplier(step, self.steps, recipe)
            optimizer.step()
            optimizer.zero_grad()
        self.progress = replace(self.progress, step=step + 1)
        return loss.detach()

    def save(self, path: Path) -> None:
        """Write everything that `load` needs; a kill while writing leaves the previous file."""
        state = {
            "size": self.size.name,
            "architecture": asdict(self.size.architecture),
            "recipe": asdict(self.size.recipe),
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
            # Training draws nothing from torch after the start; kept so that additions may.
            "torch_rng": torch.get_rng_state(),
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Continue from a file of `save`."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        if state["architecture"] != asdict(self.size.architecture):
            raise ValueError(f"{path} holds another architecture: {state['architecture']}")
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["torch_rng"].cpu())
        self.progress = Progress(**state["progress"])


def checkpoint_step(path: Path) -> int:
    """Steps done by the checkpoint at `path`."""
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)["progress"]["step"]


def train(
    size: Size,
    tokens: Mapping[str, np.ndarray],
    token_bytes: np.ndarray,
    folder: Path,
    device: str = "cpu",
    stop_after: int | None = None,
) -> None:
    """Train `size` until its token budget is spent, continuing from `folder/last.pt`.

    The budget may be changed by a restart as long as the decay has not begun.

    Args:
        tokens: token files, shard name -> (tokens,); those named `valid_*` are only measured.
        token_bytes: bytes each token stands for, (vocab,).
        folder: receives `last.pt`, from which training continues; `best.pt`, the one with the
            lowest held-out loss; and `log.jsonl`.
        device: "cpu" or "cuda".
        stop_after: stop, with a checkpoint, when this many steps are done (for trials).
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("high")
    trainer = Trainer(size, tokens, device)
    if (folder / "last.pt").exists():
        trainer.load(folder / "last.pt")
    held_out = held_out_windows(tokens, size.recipe.window)
    parameters = sum(parameter.numel() for parameter in trainer.network.parameters())
    first, last = trainer.progress.step, min(trainer.steps, stop_after or trainer.steps)
    _say(
        f"{size.name}: {parameters:,} parameters, steps {first:,} to {last:,} of {trainer.steps:,},"
        f" {size.recipe.batch_tokens:,} tokens each,"
        f" on {device} with {torch.get_num_threads()} threads"
    )
    seconds_before, started = trainer.progress.seconds, time.perf_counter()
    logged_step, logged_at, losses = first, started, []
    for step in range(first + 1, last + 1):
        losses.append(trainer.step())
        seconds = seconds_before + time.perf_counter() - started
        trainer.progress = replace(trainer.progress, seconds=seconds)

        if step % LOG_EVERY == 0 or step == last:
            loss = torch.stack(losses).mean().item()
            if not math.isfinite(loss):
                raise FloatingPointError(f"the loss is {loss} at step {step}: lower the rates")
            now = time.perf_counter()
            speed = (step - logged_step) * size.recipe.batch_tokens / (now - logged_at)
            minutes_left = (trainer.steps - step) * size.recipe.batch_tokens / speed / 60
            _say(
                f"step {step:6,}/{trainer.steps:,}  loss {loss:.3f}  {speed:,.0f} tokens/s"
                f"  {minutes_left:.1f} min left"
            )
            _log(folder, step=step, loss=round(loss, 4), tokens_per_second=round(speed))
            logged_step, logged_at, losses = step, now, []

        if step % MEASURE_EVERY == 0 or step == last:
            began = time.perf_counter()
            bits = measure_bits(trainer.network, held_out, token_bytes, device)
            mean = sum(bits.values()) / len(bits)
            if mean < trainer.progress.best_bits:
                trainer.progress = replace(trainer.progress, best_step=step, best_bits=mean)
                trainer.save(folder / "best.pt")
            row = "  ".join(f"{shard} {value:.3f}" for shard, value in bits.items())
            best = trainer.progress
            _say(
                f"held out, bits per byte: {row}  mean {mean:.3f}"
                f"  (best {best.best_bits:.3f} at step {best.best_step:,})"
            )
            _log(folder, step=step, held_out={k: round(v, 4) for k, v in bits.items()})
            logged_at += time.perf_counter() - began  # keep the speed free of measuring

        if step % CHECKPOINT_EVERY == 0 or step == last:
            trainer.save(folder / "last.pt")
    _say(
        f"{size.name}: {trainer.progress.step:,} of {trainer.steps:,} steps done,"
        f" {trainer.progress.seconds / 60:.1f} min"
    )


def held_out_windows(
    tokens: Mapping[str, np.ndarray], length: int, count: int = HELD_OUT_WINDOWS
) -> dict[str, np.ndarray]:
    """The first `length` + 1 tokens of evenly spread validation documents: (count, length + 1)."""
    windows = {}
    for shard, row in tokens.items():
        if shard.startswith(HELD_OUT):
            starts = np.flatnonzero(row == 0)
            starts = starts[np.linspace(0, len(starts) - 1, count).astype(int)]
            windows[shard.removeprefix(HELD_OUT)] = np.stack(
                [row.take(np.arange(start, start + length + 1), mode="wrap") for start in starts]
            ).astype(np.int64)
    return windows


def measure_bits(
    network: Decoder, windows: Mapping[str, np.ndarray], token_bytes: np.ndarray, device: str
) -> dict[str, float]:
    """Bits per byte of text for each shard; end-of-text tokens count neither way."""
    bits = {}
    for shard, window in windows.items():
        rows = torch.from_numpy(window).to(device)
        losses = [
            network.token_losses(part[:, :-1], part[:, 1:]) for part in rows.split(HELD_OUT_ROWS)
        ]
        sizes = token_bytes[window[:, 1:]]
        nats = torch.cat(losses).double().cpu().numpy()[sizes > 0].sum()
        bits[shard] = float(nats / math.log(2) / sizes.sum())
    return bits


def _say(text: str) -> None:
    print(text, flush=True)  # into a file as it happens


def _log(folder: Path, **values) -> None:
    with open(folder / "log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")
