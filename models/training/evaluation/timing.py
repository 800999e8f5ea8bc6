"""Load time and speed of a bundled model on this machine, and the size of its files."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from models.training.evaluation.markdown import counted

CONTEXT = 64  # tokens of the text around which a step is timed
STEPS = 48


@dataclass(frozen=True)
class Timing:
    """One model on one machine. Times are wall time.

    Attributes:
        load_s: seconds of the second load in a process, with libraries and file already read.
        step_ms: median milliseconds of a decode step (causal: one token, at a context around
            `CONTEXT`) or of a pass over a canvas of `CONTEXT` tokens (diffusion).
        weight_bytes: size of model.safetensors.
        folder_bytes: size of all files in the folder.
        parameters: number of weights, tied ones once.
        dtype: dtype of weights and arithmetic.
        kernels: the engine's choice of kernels for steps.
    """

    load_s: float
    step_ms: float
    weight_bytes: int
    folder_bytes: int
    parameters: int
    dtype: str
    kernels: str


def timed_load(load: Callable[[Path], Any], folder: Path) -> tuple[Any, float]:
    """Load twice; returns the second model and its loading time in seconds."""
    load(folder)
    start = time.perf_counter()
    model = load(folder)
    return model, time.perf_counter() - start


def median_ms(step: Callable[[], object], repeats: int = STEPS) -> float:
    """Return the median wall time of calls of `step`, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def file_sizes(folder: Path) -> tuple[int, int]:
    """Return the bytes of model.safetensors, and of all files in the folder."""
    files = [path for path in folder.iterdir() if path.is_file()]
    weights = sum(path.stat().st_size for path in files if path.suffix == ".safetensors")
    return weights, sum(path.stat().st_size for path in files)


def machine() -> str:
    """Describe the threads and versions behind the figures."""
    return f"{counted(torch.get_num_threads(), 'CPU thread')}, PyTorch {torch.__version__}"
