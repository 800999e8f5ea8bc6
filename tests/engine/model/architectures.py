"""Every text-generation architecture of transformers, built small, against its own `generate`.

`python -m tests.engine.model.architectures` checks all architectures, or only those named. It
prints the table of docs/architectures.md. `--write` writes that page, and keeps the rows of
architectures that were not named.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers

from engine.decoder import Decoder
from engine.decoding.batch import Row
from engine.errors import DecodingError, NotAModelError
from engine.model import LanguageModel
from tests.engine.model import small_configs
from tests.engine.runs import GREEDY, finished, generate, rows, sampling
from tests.engine.twins import finished as batch_finished
from tests.engine.twins import is_twin, lone

PAGE = Path(__file__).parents[3] / "docs" / "architectures.md"
TOKENS = 48
SECONDS = 60  # for one architecture, on a busy machine
CLOSE = 1e-3  # share of the logits' range by which two computations may differ
CHUNKS = (7, 1, 16, 13)

EQUAL, REFUSED, NOT_BUILT, WRONG = "equal", "refused", "not built small", "WRONG"


@dataclass(frozen=True)
class Outcome:
    """The outcome for one architecture.

    Attributes:
        model_type: its name in transformers.
        result: equal, refused, not built small, or WRONG.
        reason: the message to the user, or the reason why it could not be built.
        layers: the kinds of its cache layers.
        rows: number of texts of a batch in one pass.
        chunks: True if a prompt may be read in several passes.
    """

    model_type: str
    result: str
    reason: str = ""
    layers: str = ""
    rows: int = 0
    chunks: bool = False


def checked(model_type: str) -> Outcome:
    """Check one architecture against its `generate`."""
    try:
        hf = small_configs.build(model_type)
    except Exception as error:  # whatever its code raises is the result
        return Outcome(model_type, NOT_BUILT, _first_line(error))
    try:
        model = LanguageModel(hf, name=type(hf).__name__)
    except NotAModelError as error:
        return Outcome(model_type, REFUSED, str(error))
    except Exception as error:  # `load_model` turns this into a sentence
        return Outcome(model_type, REFUSED, f"It loads but cannot be run ({_first_line(error)}).")
    cache = model.new_cache()
    model.forward([1, 2], cache, 0)
    kinds = dict.fromkeys(type(layer).__name__.removesuffix("Layer") for layer in cache.layers)
    try:
        size = check(model)
    except (AssertionError, DecodingError) as error:
        return Outcome(model_type, WRONG, _first_line(error), ", ".join(kinds))
    return Outcome(model_type, EQUAL, "", ", ".join(kinds), size, model.can_chunk)


def check(model: LanguageModel) -> int:
    """Compare a model with `generate`, and with itself after rewind, fork, eviction and in a batch.

    Returns:
        The number of texts of a batch in one pass.

    Raises:
        AssertionError: the model differs.
    """
    prompt = [token_id % small_configs.VOCAB for token_id in (5, 11, 3, 29, 17)]
    tokens = min(TOKENS, (model.context_length or 1_000) - len(prompt))
    ids, logits = generate(model, prompt, tokens)
    close = CLOSE * float(np.ptp(logits[np.isfinite(logits)]))
    decoder = finished(Decoder(model, prompt, GREEDY), tokens)
    _equal(rows(decoder), logits, close, "generate")
    assert decoder.token_ids == ids, "other tokens than generate"

    settings = sampling(1)
    decoder = finished(Decoder(model, prompt, settings), tokens)
    ids, live = decoder.token_ids, rows(decoder)
    for keep, through in ((tokens - 4, tokens), (9, 20)):
        decoder.rewind(keep)
        finished(decoder, through)
        _same(decoder, ids, live, f"rewind({keep})")
    twin = decoder.fork()
    for token_id in range(4):
        twin.step(token_id)
    finished(decoder, 24)
    _same(decoder, ids, live, "a fork")
    decoder.release_cache()
    finished(decoder, 27)
    _same(decoder, ids, live, "an eviction")

    beginnings = {1: prompt, 2: prompt, 3: prompt[:-2]}
    jobs = [Row(beginning, sampling(seed), 20) for seed, beginning in beginnings.items()]
    batch = batch_finished(model, jobs)
    for job, text in zip(jobs, batch.texts, strict=True):
        assert text.error is None, f"a row of a batch failed: {text.error}"
        is_twin(text, lone(model, job))  # fails unless they differ only by rounding
    if model.can_chunk:
        _check_chunks(model, [*prompt, *ids][: model.reads_again_after or sum(CHUNKS)], close)
    return batch.rows_together


def _check_chunks(model: LanguageModel, ids: list[int], close: float) -> None:
    cache, single = model.new_cache(), []
    for position, token_id in enumerate(ids):
        single.append(model.forward([token_id], cache, position).logits)
    cache, chunked, start = model.new_cache(), [], 0
    for size in CHUNKS:
        new = ids[start : start + size]
        if new:
            chunked.append(model.forward(new, cache, start, all_positions=True).logits)
        start += size
    _equal(np.concatenate(chunked), np.stack(single), close, "single steps, read in chunks")


def _equal(found: np.ndarray, expected: np.ndarray, close: float, what: str) -> None:
    apart = np.nan_to_num(np.abs(found - expected)).max(axis=1)
    wrong = np.flatnonzero(apart > close)
    assert not wrong.size, f"other logits than {what} from step {wrong[0]} on ({apart.max():.2g})"


def _same(decoder: Decoder, ids: list[int], logits: np.ndarray, after: str) -> None:
    length = len(decoder.steps)
    assert decoder.token_ids == ids[:length], f"other tokens after {after}"
    assert np.array_equal(rows(decoder), logits[:length]), f"other logits after {after}"


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return " ".join(text.split())[:160]


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` after `seconds`, if the system has such an alarm."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def page(outcomes: list[Outcome]) -> str:
    """Return the text of docs/architectures.md."""
    counts = Counter(outcome.result for outcome in outcomes)
    named = ", ".join(f"{counts[kind]} {kind}" for kind in (EQUAL, REFUSED, NOT_BUILT, WRONG))
    lines = [
        "# Architectures",
        "",
        f"All {len(outcomes)} text-generation architectures of transformers "
        f"{transformers.__version__}, each built small with random weights: {named}.",
        "",
        "Equal means: greedy decoding gives the tokens and logits of transformers' own `generate` "
        f"over {TOKENS} tokens, beyond every window and switch; rewind, fork and a lost cache "
        "change no bit; three rows of a batch are the texts that they are alone. Refused means: "
        "the model is not loaded, and the sentence says why.",
        "",
        "Batch: whether texts share their passes. Chunks: whether a prompt may be "
        "read in several passes.",
        "",
        "Written by `python -m tests.engine.model.architectures --write`.",
        "",
        "| Architecture | Result | Cache layers | Batch | Chunks |",
        "| --- | --- | --- | --- | --- |",
    ]
    for outcome in outcomes:
        if outcome.result == EQUAL:
            batch = "together" if outcome.rows > 1 else "one by one"
            chunks = "yes" if outcome.chunks else "no"
            cells = (outcome.model_type, EQUAL, outcome.layers, batch, chunks)
            lines.append("| {} | {} | {} | {} | {} |".format(*cells))
    for kind in (REFUSED, NOT_BUILT, WRONG):
        found = [outcome for outcome in outcomes if outcome.result == kind]
        if found:
            lines += ["", f"| Architecture | {kind[0].upper()}{kind[1:]}, because |"]
            lines += ["| --- | --- |"]
            escaped = (outcome.reason.replace("|", "\\|") for outcome in found)
            pairs = zip(found, escaped, strict=True)
            lines += [f"| {outcome.model_type} | {reason} |" for outcome, reason in pairs]
    return "\n".join(lines) + "\n"


def written(text: str) -> dict[str, Outcome]:
    """Return the outcomes on a page, by model type."""
    outcomes, kind = {}, EQUAL
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 2 and cells[0] == "Architecture":
            kind = cells[1].removesuffix(", because")
            kind = kind if kind == WRONG else kind.lower()
        elif len(cells) == 2 and cells[0] in small_configs.MODEL_TYPES:
            outcomes[cells[0]] = Outcome(cells[0], kind, cells[1].replace("\\|", "|"))
        elif len(cells) == 5 and cells[1] == EQUAL:
            name, _, layers, batch, chunks = cells
            rows_of_a_pass = 3 if batch == "together" else 1
            outcomes[name] = Outcome(name, EQUAL, "", layers, rows_of_a_pass, chunks == "yes")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="model types; all of transformers without")
    parser.add_argument("--write", action="store_true", help="write docs/architectures.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    outcomes = written(PAGE.read_text("utf-8")) if arguments.names and PAGE.exists() else {}
    for name in arguments.names or small_configs.MODEL_TYPES:
        start = time.perf_counter()
        try:
            with limited(SECONDS), contextlib.redirect_stdout(io.StringIO()):  # some print
                outcome = checked(name)
        except TimeoutError as error:
            outcome = Outcome(name, NOT_BUILT, str(error))
        outcomes[name] = outcome
        took = time.perf_counter() - start
        print(f"{outcome.result:16} {name} {took:.1f} s {outcome.reason}", file=sys.stderr)
    if arguments.write:
        PAGE.write_text(page([outcomes[name] for name in sorted(outcomes)]), "utf-8")
    else:
        print(page(list(outcomes.values())))


if __name__ == "__main__":
    main()
