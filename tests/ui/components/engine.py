"""Shapes rows for the node tests: `engine.js` asks, this program answers.

    python -m tests.ui.components.engine QUESTIONS ANSWERS

Both are named pipes. A question is one line of JSON: `logits` (null for -inf), `settings` in a
page's format, `text`, `prompt_length`, `eos_ids`, `line_break_ids`, `xtc_u`, `u`. An answer is
four bytes with its length (little-endian), then a message in the step page's format.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

from engine.errors import DecodingError, NoCandidatesError
from engine.sampling import SamplingSettings, shape
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Context
from ui.components.outcomes import shaped
from ui.components.rows import packed
from ui.texts.settings import parse_settings

LEAST = 1000  # tokens: some tests edit tokens beyond their few logits


def context_of(question: dict) -> Context:
    return Context(
        np.array(question["text"], np.int64),
        prompt_length=question["prompt_length"],
        eos_ids=tuple(question["eos_ids"]),
        line_break_ids=tuple(question["line_break_ids"]),
        uniform=lambda stream: question["xtc_u"],
    )


def answer(question: dict) -> bytes:
    scores = [-np.inf if z is None else z for z in question["logits"]]
    scores += [-np.inf] * (LEAST - len(scores))
    logits = np.array(scores, np.float32)
    try:
        settings, _ = parse_settings(question["settings"])
        stages = shape(logits, settings, context_of(question)).stages
    except NoCandidatesError as error:
        stages = error.stages
    except DecodingError:  # refused: the server sends no results
        settings, stages = SamplingSettings(), ()
    told, arrays = shaped(RankedRow(logits), stages, settings, question["u"])
    return packed({"shaped": told | {"offset": 0}}, arrays)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8") as questions, Path(sys.argv[2]).open("wb") as out:
        for line in questions:
            data = answer(json.loads(line))
            out.write(struct.pack("<I", len(data)) + data)
            out.flush()
