"""The presets of the step page, which are JavaScript, and those of the compare page."""

import re
from pathlib import Path

from ui.compare.column import PRESETS

CARDS = (
    Path(__file__).resolve().parents[2]
    / "ui"
    / "components"
    / "js"
    / "parts"
    / "cards"
    / "cards.js"
)


def test_both_pages_have_the_same_presets_in_the_same_order():
    table = re.search(r"const PRESETS = \[(.*?)\n\]", CARDS.read_text("utf-8"), re.DOTALL)
    there = {
        name: {key: float(value) for key, value in re.findall(r"(\w+): ([\d.]+)", settings)}
        for name, settings in re.findall(r"\['([^']+)', \{([^}]*)\}\]", table[1])
    }
    here = {
        name: {stage.setting: stage.value for stage in settings.chain}
        for name, settings in PRESETS.items()
    }
    assert list(there) == list(here)
    assert there == here
