"""Writes what the engine makes of random rows, chains and texts, for the tests that node runs.

    python -m tests.ui.components.vectors [--chains 400] [--seed 1]

Into test-artefacts/vectors/: `table.json`, the table of samplers; `rows.jsonl`, one line per row
with its chains and the engine's own results for each; `rows.bin`, the rows packed by `pack_row`;
`hostile.json`, labels of token texts that break pages. The tests under tests/ui/components read
them (`vectors.js`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.errors import NoCandidatesError
from engine.sampling import SamplingSettings
from engine.sampling.ranking import RankedRow
from engine.values import plain
from tests.ui import hostile
from tests.ui.components.cases import (
    KINDS,
    Case,
    previewed_names,
    random_case,
    random_names,
    random_row,
    random_text,
)
from tests.ui.components.made_up import MADE_UP, known
from tests.ui.components.results import results
from ui.components.outcomes import shaped
from ui.components.rows import pack_light, pack_row
from ui.step.message import packed
from ui.texts.settings import page_table
from ui.words.catalogue import sampler
from ui.words.labels import token_label

FOLDER = Path(__file__).resolve().parents[3] / "test-artefacts" / "vectors"
CHAINS = 400
PER_ROW = 8
# Sizes of vocabularies, and the share of each.
SIZES = {
    4: 0.1,
    5: 0.05,
    50: 0.25,
    512: 0.35,
    4096: 0.17,
    16_384: 0.06,
    70_000: 0.01,
    151_936: 0.01,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=CHAINS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "table.json").write_text(json.dumps(page_table()), "utf-8")
    write_rows(options.folder, options.chains, options.seed)
    write_told(options.folder, options.chains // 2, options.seed)
    write_searched(options.folder)
    labels = [token_label(text) for text in hostile.HOSTILE]
    (options.folder / "hostile.json").write_text(json.dumps(labels), "utf-8")


def write_rows(folder: Path, chains: int, seed: int) -> None:
    """Write `rows.jsonl` and `rows.bin`."""
    offset = 0
    with (
        (folder / "rows.jsonl").open("w", encoding="utf-8") as lines,
        (folder / "rows.bin").open("wb") as arrays,
    ):
        for number, (logits, kind) in enumerate(rows(chains // PER_ROW, seed)):
            rng = np.random.default_rng([seed, 1, number])
            cases = list(cases_on(rng, logits))
            header, data = pack_row(RankedRow(logits))
            del header["leading_ids"]
            line = {
                "name": f"row {number} of seed {seed}: {kind}, {logits.size} tokens",
                "header": header,
                "offset": offset,
                "bytes": len(data),
                "cases": [results(rng, case) for case in cases],
            }
            lines.write(json.dumps(line, allow_nan=False, default=np.generic.item) + "\n")
            arrays.write(data)
            offset += len(data)


def rows(count: int, seed: int) -> Iterator[tuple[np.ndarray, str]]:
    """Yield rows of random sizes and kinds, with the bundled model's own among them."""
    own = model_rows()
    for number in range(count):
        rng = np.random.default_rng([seed, 0, number])
        if number % (count // len(own) + 1) == 7 and own:
            yield own.pop(), "of the bundled model"
            continue
        vocab = int(rng.choice(list(SIZES), p=list(SIZES.values())))
        kind = str(rng.choice(KINDS))
        yield random_row(rng, vocab, kind), kind


def model_rows() -> list[np.ndarray]:
    """Return the bundled model's logits after beginnings that leave it certain or uncertain."""
    from engine.decoder import Decoder
    from engine.model import load_model

    model = load_model()
    found = []
    for prompt in ("Once upon a time", "The capital of France is", "She", "1, 2, 3, 4,"):
        decoder = Decoder(model, prompt)
        decoder.step()
        found.append(np.array(decoder.logits(0), np.float32))
    return found


def cases_on(rng: np.random.Generator, logits: np.ndarray) -> Iterator[Case]:
    """Yield previewed chains over a row, each with a new text or the previous one."""
    text = random_text(rng, logits)
    for _ in range(PER_ROW):
        if rng.random() < 0.5:
            text = random_text(rng, logits)
        yield random_case(rng, logits, previewed_names(rng), text)


def is_decided_by_rounding(case: Case) -> bool:
    """Return whether a temperature follows an entropy too small for any digits in rounded sums."""
    try:
        stages = case.distribution.stages
    except NoCandidatesError:
        return False
    return any(0 < result.figures.get("entropy_share", 0) < 1e-7 for result in stages)


# --- results of the engine alone ------------------------------------------------------------------


def write_told(folder: Path, chains: int, seed: int) -> None:
    """Write `told.jsonl` and `told.bin`: rows as a step sends them, with the engine's own results.

    Half of the rows are light. The others are whole, with made-up samplers among the engine's.
    """
    offset = 0
    with (
        known(),
        (folder / "told.jsonl").open("w", encoding="utf-8") as lines,
        (folder / "told.bin").open("wb") as arrays,
    ):
        table_of_all = page_table()
        table_of_all["samplers"] = [*table_of_all["samplers"], *map(sampler, MADE_UP)]
        table_of_all["order"] = [each["name"] for each in table_of_all["samplers"]]
        (folder / "told.json").write_text(json.dumps(table_of_all), "utf-8")
        for number in range(chains):
            rng = np.random.default_rng([seed, 2, number])
            is_light = number % 2 == 0
            case = told_case(rng, is_light=is_light)
            if case is None:
                continue
            data = message(case, is_light=is_light)
            line = {
                "name": f"{'light' if is_light else 'made-up'} row {number} of seed {seed}",
                "offset": offset,
                "bytes": len(data),
                "case": results(rng, case),
            }
            lines.write(json.dumps(line, allow_nan=False, default=np.generic.item) + "\n")
            arrays.write(data)
            offset += len(data)


def told_case(rng: np.random.Generator, *, is_light: bool) -> Case | None:
    """Return a case of one of the two kinds, or None if its chain leaves no token."""
    sizes = (2000, 4096, 16_384, 70_000) if is_light else (50, 512, 4096, 70_000)
    vocab = int(rng.choice(sizes, p=(0.4, 0.4, 0.15, 0.05)))
    logits = random_row(rng, vocab, str(rng.choice(KINDS)))
    case = random_case(rng, logits, random_names(rng))
    if not is_light:
        chain = list(case.settings.chain)
        for kind in MADE_UP:
            if rng.random() < 0.4:
                chain.insert(int(rng.integers(len(chain) + 1)), kind(float(rng.integers(1, 5))))
        case = replace(case, settings=SamplingSettings(chain=chain))
    try:
        case.distribution.survivors  # noqa: B018  # computed here, and kept
    except NoCandidatesError:
        return None
    return None if is_decided_by_rounding(case) else case


def message(case: Case, *, is_light: bool) -> bytes:
    """Pack the row and the engine's results as ui/step/message.py does."""
    header, data = (pack_light if is_light else pack_row)(case.distribution.raw)
    header["labels"] = []
    raw, stages = case.distribution.raw, case.distribution.stages
    told, arrays = shaped(raw, stages, case.settings, case.us[0])
    told["offset"] = len(data)
    return packed({"row": header, "shaped": told}, data + arrays)


# --- contrastive search ---------------------------------------------------------------------------


def write_searched(folder: Path) -> None:
    """Write `searched.json`: a step of a search, and the engine's scores at other alphas."""
    from engine.decoding.contrastive import ContrastiveSearch
    from engine.model import load_model

    model = load_model()

    def stepped(alpha: float) -> dict:
        search = ContrastiveSearch(model, "Once upon a time, there was", 6, alpha)
        search.step()
        return plain(search.steps[0])

    others = [{"alpha": alpha, "step": stepped(alpha)} for alpha in (0.0, 0.25, 0.6, 1.0)]
    (folder / "searched.json").write_text(json.dumps({"step": stepped(0.6), "others": others}))


if __name__ == "__main__":
    main()
