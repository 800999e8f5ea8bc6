"""The claims page by what is its own."""

from __future__ import annotations

from pathlib import Path

from ui.claims.claims import CLAIMS
from ui.claims.overview import overview
from ui.measurements.page import MeasurementPage
from ui.words.language import marked

PAGE = MeasurementPage(
    "claims",
    marked(
        "**Claims.** What people say of language models, put to the test on the loaded one. "
        "Predict, run, and read what follows from the figures. ✓ holds here, ✗ does not, ◐ "
        "depends, ? is not decided."
    ),
    CLAIMS,
    Path(__file__).with_suffix(".css"),
    has_second=True,
    overview=overview,
)
