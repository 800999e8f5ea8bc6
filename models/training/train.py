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

from models.training.corpus import Windows
from models.training.network import Network
from models.training.objectives import MaskedTokens, NextToken, bits_per_byte, held_out_windows
from models.training.optimizer import build_optimizers
from models.training.sizes import Architecture, Plan, Recipe

LOG_EVERY = 20  # steps
CHECKPOINT_EVERY = 200
MEASURE_EVERY = 400
LOG = "training_log.jsonl"


@dataclass(frozen=True)
class Progress:
    """Progress of a run; stored in its checkpoint."""

    step: int = 0
    seconds: float = 0.0  # inside the loop, summed over restarts
    best_step: int = 0
    best_bits: float = math.inf  # mean bits per byte over the validation shards
    tokens_before: int = 0  # read by the weights from which the run started


def rate_multiplier(step: int, steps: int, recipe: Recipe) -> float:
    """Return the schedule: warm-up, constant, then linear decay to zero over `decay_share`."""
    warm = (step + 1) / recipe.warmup_steps
    decay = (steps - step) / (recipe.decay_share * steps)
    return min(1.0, warm, decay)


def is_decaying(step: int, steps: int, recipe: Recipe) -> bool:
    """Tell whether the learning rate is decaying at this step."""
    return step >= steps - recipe.decay_share * steps


def window_length(step: int, steps: int, recipe: Recipe) -> int:
    """Return a step's tokens per window: the recipe's lengths in turn."""
    lengths = recipe.decay_windows if is_decaying(step, steps, recipe) else recipe.windows
    return lengths[step % len(lengths)]


class Trainer:
    """Network, optimizers and data of one run; `step()` is the unit of training.

    Args:
        plan: the model to train, and its recipe.
        tokens: token files, shard name -> (tokens,).
        device: "cpu" or "cuda".
    """

    def __init__(self, plan: Plan, tokens: Mapping[str, np.ndarray], device: str):
        recipe = plan.recipe
        self.plan = plan
        self.device = device
        self.network = Network(plan.architecture)
        self.network.initialise(recipe.seed)
        self.network.to(device)
        self.network.compile_blocks()
        self.objective = NextToken() if plan.architecture.is_causal else MaskedTokens()
        self.optimizers = build_optimizers(self.network, recipe)
        self.windows, self.decay_windows = (
            Windows(tokens, mix, recipe.aligned_share, recipe.seed)
            for mix in (recipe.mix, recipe.decay_mix or recipe.mix)
        )
        self.steps = recipe.steps
        self.progress = Progress()

    @property
    def tokens(self) -> int:
        """Number of tokens that the weights have read."""
        done = self.progress.step * self.plan.recipe.batch_tokens
        return self.progress.tokens_before + done

    def start_from(self, weights: Mapping[str, Tensor], tokens: int) -> None:
        """Start from trained weights, which have read `tokens` tokens, instead of random ones.

        A masked diffusion model has one token more than the language model it starts from: the
        mask. It starts as the mean of the others.
        """
        weights = dict(weights)
        table = weights["embed_tokens.weight"].float()
        missing = self.plan.architecture.vocab_size - len(table)
        mean = table.mean(0, keepdim=True).expand(missing, -1)
        weights["embed_tokens.weight"] = torch.cat([table, mean])
        self.network.load_state_dict(weights)
        self.progress = replace(self.progress, tokens_before=tokens)

    def step(self) -> Tensor:
        """Train on the next batch; returns its mean loss in nats per token, still on the device."""
        recipe, step = self.plan.recipe, self.progress.step
        length = window_length(step, self.steps, recipe)
        rows = recipe.batch_tokens // length
        windows = self.decay_windows if is_decaying(step, self.steps, recipe) else self.windows
        loss = self.objective.loss(self.network, windows, step, rows, length)
        loss.backward()
        muon, adam = self.optimizers
        for group in adam.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], recipe.clip_norm)
        for optimizer in (muon, adam):
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * rate_multiplier(step, self.steps, recipe)
            optimizer.step()
            optimizer.zero_grad()
        self.progress = replace(self.progress, step=step + 1)
        return loss.detach()

    def save(self, path: Path) -> None:
        """Write everything that `load` needs; a kill while writing leaves the previous file."""
        state = {
            "architecture": asdict(self.plan.architecture),
            "recipe": asdict(self.plan.recipe),
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
        """Continue from a file written by `save`."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        if Architecture(**state["architecture"]) != self.plan.architecture:
            raise ValueError(f"{path} holds another architecture: {state['architecture']}")
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["torch_rng"].cpu())
        self.progress = Progress(**state["progress"])


def checkpoint_step(path: Path) -> int:
    """Return the number of steps done by the checkpoint at `path`."""
    return _state(path)["progress"]["step"]


def checkpoint_tokens(path: Path) -> int:
    """Return the number of tokens read by the weights of the checkpoint at `path`."""
    state = _state(path)
    before = state["progress"].get("tokens_before", 0)
    return before + state["progress"]["step"] * state["recipe"]["batch_tokens"]


def _state(path: Path) -> dict:
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)


def train(
    plan: Plan,
    tokens: Mapping[str, np.ndarray],
    token_bytes: np.ndarray,
    folder: Path,
    device: str = "cpu",
    stop_after: int | None = None,
    start: tuple[Mapping[str, Tensor], int] | None = None,
) -> None:
    """Train until the plan's token budget is spent, continuing from `folder/last.pt`.

    A restart may change the budget as long as the decay has not started.

    Args:
        plan: the model to train, and its recipe.
        tokens: token files, shard name -> (tokens,); those named `valid_*` are only measured.
        token_bytes: (vocab,) bytes of each token's text.
        folder: receives `last.pt`, from which training continues; `best.pt`, the one with the
            lowest held-out loss; and `training_log.jsonl`.
        device: "cpu" or "cuda".
        stop_after: stop with a checkpoint after this many steps (for trials).
        start: initial weights, and the tokens they have read (`Trainer.start_from`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("high")
    recipe = plan.recipe
    trainer = Trainer(plan, tokens, device)
    if (folder / "last.pt").exists():
        trainer.load(folder / "last.pt")
    elif start:
        trainer.start_from(*start)
    held_out = held_out_windows(tokens, max(recipe.windows))
    parameters = sum(parameter.numel() for parameter in trainer.network.parameters())
    first, last = trainer.progress.step, min(trainer.steps, stop_after or trainer.steps)
    _say(
        f"{plan.name}: {parameters:,} parameters, steps {first:,} to {last:,} of {trainer.steps:,},"
        f" {recipe.batch_tokens:,} tokens each,"
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
            speed = (step - logged_step) * recipe.batch_tokens / (now - logged_at)
            minutes_left = (trainer.steps - step) * recipe.batch_tokens / speed / 60
            _say(
                f"step {step:6,}/{trainer.steps:,}  loss {loss:.3f}  {speed:,.0f} tokens/s"
                f"  {minutes_left:.1f} min left"
            )
            _log(folder, tokens=trainer.tokens, loss=round(loss, 4), speed=round(speed))
            logged_step, logged_at, losses = step, now, []

        if step % MEASURE_EVERY == 0 or step == last:
            began = time.perf_counter()
            bits = bits_per_byte(trainer.objective, trainer.network, held_out, token_bytes)
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
            _log(folder, tokens=trainer.tokens, held_out={k: round(v, 4) for k, v in bits.items()})
            logged_at += time.perf_counter() - began  # keep the speed free of measuring time

        if step % CHECKPOINT_EVERY == 0 or step == last:
            trainer.save(folder / "last.pt")
    _say(
        f"{plan.name}: {trainer.progress.step:,} of {trainer.steps:,} steps done,"
        f" {trainer.progress.seconds / 60:.1f} min"
    )


def _say(text: str) -> None:
    print(text, flush=True)  # reaches a file immediately


def _log(folder: Path, **values) -> None:
    with open(folder / LOG, "a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")
