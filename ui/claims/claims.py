"""The claims, in the order of the page; one line each. Those of a topic stand together."""

from __future__ import annotations

from ui.claims import (
    beam,
    broken_json,
    greedy_loops,
    letters,
    no_plan,
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
    no_plan.SECTION,
    same_seed.SECTION,
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
)
