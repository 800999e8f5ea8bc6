"""The machine of a measurement: processor, memory, GPU and software versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil
import torch

from engine.model import LanguageModel
from engine.values import Amount, Name, Positive, Row, Whole

PACKAGES = ("torch", "transformers", "numpy")
_LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Machine:
    """A machine at the time of a measurement.

    Attributes:
        processor: name of the processor.
        cores: number of cores that this process may use.
        memory_gib: memory of the machine, in GiB.
        gpu: name of the first CUDA device, None without one.
        load: load averages over the last 1, 5 and 15 minutes.
    """

    processor: Name
    cores: Positive
    memory_gib: Amount
    gpu: Name | None
    load: Row[Amount]

    @classmethod
    def here(cls) -> Machine:
        """Describe this machine at this moment."""
        usable = getattr(os, "sched_getaffinity", None)
        return cls(
            processor=_processor()[:_LONGEST],
            cores=len(usable(0)) if usable else os.cpu_count() or 1,
            memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
            gpu=torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
            load=tuple(round(value, 2) for value in psutil.getloadavg()),
        )

    @property
    def is_busy(self) -> bool:
        """True if the load average of the last minute is at least the number of cores."""
        return self.load[0] >= self.cores


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of the packages that affect the figures."""
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


@dataclass(frozen=True)
class Setting:
    """Conditions of a measurement: the machine, the versions, the model and how it runs.

    Attributes:
        machine: the machine.
        python, torch, transformers, numpy: their versions.
        model: name of the model.
        parameters: number of the model's weights.
        device: where the weights are, as PyTorch names it.
        dtype: dtype in which the weights are stored.
        attention: the implementation of attention, as transformers names it.
        threads: CPU threads of passes over fewer than 128 tokens.
        prefill_threads: CPU threads of longer passes.
        date: UTC date and time, to the minute.
    """

    machine: Machine
    python: Name
    torch: Name
    transformers: Name
    numpy: Name
    model: Name
    parameters: Whole
    device: Name
    dtype: Name
    attention: Name
    threads: Whole
    prefill_threads: Whole
    date: Name

    @classmethod
    def here(cls, model: LanguageModel) -> Setting:
        """Describe this machine and this model at this moment."""
        usual = torch.get_num_threads()
        facts = model.facts
        return cls(
            machine=Machine.here(),
            **versions(),
            model=model.name[:_LONGEST],
            parameters=model.parameters,
            device=facts["device"],
            dtype=facts["dtype"],
            attention=str(facts["attention"]),
            threads=model.kernels.threads or usual,
            prefill_threads=model.kernels.prefill_threads or usual,
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )

    @property
    def name(self) -> str:
        """The machine in a few words: its GPU if the model runs on one, otherwise its processor."""
        machine = self.machine
        if self.device.startswith("cuda") and machine.gpu:
            return machine.gpu
        return f"{machine.processor}, {machine.cores} cores"
