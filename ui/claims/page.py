"""The claims page by what is its own."""

from __future__ import annotations

from pathlib import Path

from ui.claims.claims import CLAIMS
from ui.claims.overview import overview
from ui.claims.words import SYMBOLS
from ui.measurements.page import MeasurementPage

PAGE = MeasurementPage(
    "claims",
    "**Claims.** What people say of language models, put to the test on the loaded one. Predict, "
    "run, and read what follows from the figures. "
    f"{SYMBOLS['holds']} holds here, {SYMBOLS['fails']} does not, {SYMBOLS['depends']} depends, "
    f"{SYMBOLS['open']} is not decided.",
    CLAIMS,
    Path(__file__).with_suffix(".css"),
    has_second=True,
    overview=overview,
)
