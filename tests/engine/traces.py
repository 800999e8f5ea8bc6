"""An example trace, and the folder of traces that earlier versions recorded, in today's format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.sampling import SamplingSettings
from engine.trace import StageSummary, Step, Trace

OLD_TRACES = Path(__file__).parent / "old_traces"

EXAMPLE_STEP = Step(
    index=0,
    token_id=6342,
    token_bytes=b" Paris",
    text=" Paris",
    is_special=False,
    forced=False,
    u=0.5871,
    rank=1,
    logit=17.25,
    logprob=-0.36,
    probability=0.81,
    entropy_bits=1.3,
    model_entropy_bits=2.25,
    survivors=7,
    stages=(StageSummary("temperature", 16_384, 0.0), StageSummary("top_p", 7, 0.1)),
    stop_reason=None,
    stop_string=None,
    is_prefill=True,
    reused=False,
    cache_positions=5,
    cache_bytes=30_720,
    cache_bytes_held=30_720,
    forward_ms=9.5,
    shape_ms=0.3,
    draw_ms=0.1,
    total_ms=10.1,
)
EXAMPLE = Trace(
    model={"name": "tiny", "vocab_size": 16_384, "revision": None},
    prompt_ids=(1, 2, 3),
    prompt="The capital of France is",
    settings=((0, SamplingSettings(temperature=0.7, top_p=0.9).to_dict()),),
    stop_strings=("\n\n",),
    steps=(
        EXAMPLE_STEP,
        replace(EXAMPLE_STEP, index=1, token_bytes=b"\xf0\x9f", text="", u=None, is_prefill=False),
        replace(EXAMPLE_STEP, index=2, forced=True, stages=(), stop_reason="eos", is_special=True),
    ),
)
