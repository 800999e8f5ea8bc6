"""The claims, in the order of the page; one line each. Those of a topic stand together."""

from __future__ import annotations

from ui.claims.experiments import (
    beam,
    broken_json,
    cached_flat,
    determinism,
    greedy_loops,
    letters,
    long_context,
    one_token,
    output_slower,
    output_time,
    penalties,
    same_seed,
    speculative,
    survivors,
    tail,
    temperature,
    truth,
)
from ui.measurements.section import Section

CLAIMS: tuple[Section, ...] = (
    # One step after the other
    one_token.SECTION,
    same_seed.SECTION,
    determinism.SECTION,
    # What is drawn from
    survivors.NUCLEUS,
    survivors.FIXED_K,
    tail.SECTION,
    # What the model knows
    truth.SECTION,
    temperature.SECTION,
    # Loops
    greedy_loops.SECTION,
    penalties.SECTION,
    # Tokens
    letters.SECTION,
    # Other decoders
    beam.SECTION,
    broken_json.SECTION,
    speculative.SECTION,
    # Time and memory
    output_slower.SECTION,
    output_time.SECTION,
    cached_flat.SECTION,
    long_context.SECTION,
)
