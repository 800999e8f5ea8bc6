"""The device that a test runs on: always the CPU, and a GPU if there is one (`-m gpu`)."""

from __future__ import annotations

import pytest
import torch

from engine.model import LanguageModel
from tests.engine import tiny_models
from tests.engine.gpu.devices import GPU, WHERE_THERE_IS_ONE


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=(GPU, WHERE_THERE_IS_ONE))])
def device(request) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def model(request, device) -> LanguageModel:
    """A new tiny Llama on the device."""
    return LanguageModel(tiny_models.build("llama", dtype=request.param).to(device))
