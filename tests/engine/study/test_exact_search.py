"""Exact search against all possible texts, on a vocabulary small enough to try them all."""

import re
import threading
from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.errors import CancelledError, LogitsError, NoCandidatesError, SettingError
from engine.grammar.allowed_tokens import Places, TokenTable
from engine.model import LanguageModel
from engine.runner.job import as_job
from engine.sampling.samplers import Constraint
from engine.study import exact_search
from engine.study.exact_search import ExactBest, ExactSearch
from engine.study.search_error import SearchErrorStudy
from tests.engine import tiny_models

VOCAB, TOKENS = 7, 5  # 7 + 7^2 + ... + 7^5 beginnings and texts
PROMPT = [1, 4, 2]
CLOSE = 1e-5


@cache
def small(architecture: str, seed: int) -> LanguageModel:
    """A model with seven tokens, the last of which ends a text."""
    hf = tiny_models.build(architecture, seed, vocab_size=VOCAB)
    hf.get_output_embeddings().weight.data *= 0.5  # otherwise one token has nearly all probability
    model = LanguageModel(hf, name=architecture)
    model.eos_ids = (VOCAB - 1,)
    return model


@cache
def every_text(architecture: str, seed: int) -> dict[tuple[int, ...], float]:
    """Log-probability of every complete text of at most five tokens, in float64."""
    model, end = small(architecture, seed), VOCAB - 1
    found: dict[tuple[int, ...], float] = {}
    totals = {(): 0.0}
    for length in range(1, TOKENS + 1):
        with torch.inference_mode():
            ids = torch.tensor([[*PROMPT, *beginning] for beginning in totals])
            logits = model.hf(ids, use_cache=False).logits[:, -1].double()
        rows = torch.log_softmax(logits, -1).tolist()
        grown = {
            (*beginning, token_id): total + logprob
            for (beginning, total), row in zip(totals.items(), rows, strict=True)
            for token_id, logprob in enumerate(row)
        }
        found |= {ids: t for ids, t in grown.items() if ids[-1] == end or length == TOKENS}
        totals = {ids: t for ids, t in grown.items() if ids[-1] != end}
    return found


def run(search: ExactSearch) -> ExactBest:
    list(search.run())
    return search.result


@pytest.mark.parametrize(
    ("architecture", "seed", "penalty"),
    [
        *(("llama", 0, -1.0), ("gpt2", 1, 0.0), ("llama", 2, 0.7), ("llama", 3, 2.0)),
        *(pytest.param("gpt2", n, p, marks=pytest.mark.long) for n in range(4) for p in (-1, 1, 2)),
    ],
)
def test_search_finds_the_best_of_all_texts(architecture, seed, penalty):
    texts = every_text(architecture, seed)
    scores = {ids: total / len(ids) ** penalty for ids, total in texts.items()}
    best = max(scores, key=scores.get)
    found = run(ExactSearch(small(architecture, seed), PROMPT, TOKENS, length_penalty=penalty))
    assert found.token_ids == best
    assert found.logprob == pytest.approx(texts[best], abs=CLOSE)
    assert found.score == pytest.approx(scores[best], abs=CLOSE)
    assert found.is_proven and found.stopped is None and found.open == 0
    assert found.bound == found.score
    assert found.largest_pruned <= found.score
    # Beginnings of up to four tokens that do not end: the most that could have been read.
    assert found.visited < sum(6**length for length in range(TOKENS))


def test_recurrent_models_are_searched_too():
    texts = every_text("mamba", 0)
    found = run(ExactSearch(small("mamba", 0), PROMPT, TOKENS))
    assert found.is_proven and found.token_ids == max(texts, key=texts.get)


def test_every_prefix_is_read_or_pruned_once(monkeypatch):
    # Without an end, each of a beginning's VOCAB continuations is read, pruned or the last token.
    model = small("llama", 1)
    monkeypatch.setattr(model, "eos_ids", ())
    found = run(ExactSearch(model, PROMPT, 3))
    by_length, totals = [], {(): 0.0}
    for _ in range(3):
        by_length.append(sum(total > found.logprob + CLOSE for total in totals.values()))
        with torch.inference_mode():
            ids = torch.tensor([[*PROMPT, *beginning] for beginning in totals])
            logits = model.hf(ids, use_cache=False).logits[:, -1].double()
        rows = torch.log_softmax(logits, -1).tolist()
        totals = {
            (*beginning, token_id): total + logprob
            for (beginning, total), row in zip(totals.items(), rows, strict=True)
            for token_id, logprob in enumerate(row)
        }
    assert found.visited >= sum(by_length), "a beginning that may win was not read"
    # Beginnings of two tokens that were read are completed by a third.
    assert found.pruned + found.visited - 1 == VOCAB * sum(by_length[:2])


def test_beam_start_needs_no_more_visits():
    model = small("llama", 2)
    search = BeamSearch(
        model, PROMPT, BeamSettings(width=3, length_penalty=0, max_new_tokens=TOKENS)
    )
    list(search.run())
    begun = run(ExactSearch(model, PROMPT, TOKENS, start=search.hypotheses))
    greedy = run(ExactSearch(model, PROMPT, TOKENS))
    assert begun.token_ids == greedy.token_ids
    assert begun.visited <= greedy.visited


@pytest.mark.parametrize(
    ("limits", "stopped"), [({"most_nodes": 3}, "nodes"), ({"most_open": 1}, "memory")]
)
def test_limited_search_still_gives_a_valid_interval(limits, stopped):
    texts = every_text("llama", 3)
    best = max(texts.values())
    found = run(ExactSearch(small("llama", 3), PROMPT, TOKENS, **limits))
    assert not found.is_proven and found.stopped == stopped
    assert found.score <= best + CLOSE <= found.bound + 2 * CLOSE
    assert found.open > 0 and found.bound > found.score


def test_bound_and_best_score_converge_monotonically():
    search = ExactSearch(small("gpt2", 1), PROMPT, TOKENS)
    seen = list(search.run())
    bounds, bests = [one.bound for one in seen], [one.best for one in seen]
    assert bounds == sorted(bounds, reverse=True) and bests == sorted(bests)
    assert bounds[-1] == bests[-1] and len(seen) > 2
    visited = [one.visited for one in seen]
    assert visited == sorted(visited) and seen[-1].open == 0


def test_cancelled_search_keeps_its_interval_and_resumes():
    cancel = threading.Event()
    search = ExactSearch(small("llama", 3), PROMPT, TOKENS)
    with pytest.raises(RuntimeError, match="has not begun"):
        _ = search.result
    for _ in search.run(cancel):
        cancel.set()
    assert search.result.stopped == "cancelled" and not search.result.is_proven
    assert search.result.bound > search.result.score
    again = run(search)  # resumes
    whole = run(ExactSearch(small("llama", 3), PROMPT, TOKENS))
    assert again.is_proven and again.token_ids == whole.token_ids
    assert (again.visited, again.pruned) == (whole.visited, whole.pruned)
    with as_job(lambda: True), pytest.raises(CancelledError):
        run(ExactSearch(small("llama", 3), PROMPT, TOKENS))


def test_invalid_input_gives_a_clear_error():
    model = small("llama", 0)
    for tokens, said in (
        (0, "max_new_tokens must be at least 1"),
        (33, "max_new_tokens must be at most 32"),
        (2.5, "max_new_tokens must be a whole number"),
    ):
        with pytest.raises(SettingError, match=said):
            ExactSearch(model, PROMPT, tokens)
    with pytest.raises(SettingError, match="length_penalty"):
        ExactSearch(model, PROMPT, 4, length_penalty=np.inf)
    with pytest.raises(SettingError, match="must be at most 2 "):
        ExactSearch(model, [1] * (tiny_models.CONTEXT - 2), 4)
    with pytest.raises(SettingError, match="widths"):
        SearchErrorStudy(model, PROMPT, 4, widths=())


def test_nan_logits_raise_a_clear_error(llama):
    with torch.no_grad():
        llama.hf.get_output_embeddings().weight[5] = float("nan")
    with pytest.raises(LogitsError, match="returned 1 NaN"):
        run(ExactSearch(llama, tiny_models.prompt(0), 3))


# --- Under a constraint ---------------------------------------------------------------------------

SPELT = ["a", "b", "c", "ab", "ca", "d", ""]  # texts of the seven tokens; the last is the end
SOURCE = "a(ab?c|bc*a)*d?"


@cache
def may_begin(text: str) -> bool:
    """Return True if a text of the source begins so; at most three letters complete a beginning."""
    ends = ("".join(letters) for n in range(4) for letters in product("abcd", repeat=n))
    return any(re.fullmatch(SOURCE, text + end) for end in ends)


def keeps_to_it(ids: tuple[int, ...]) -> bool:
    text = "".join(SPELT[i] for i in ids)
    return bool(re.fullmatch(SOURCE, text)) if ids[-1] == VOCAB - 1 else may_begin(text)


@pytest.fixture
def spelling(monkeypatch) -> Callable[[int], LanguageModel]:
    def made(seed: int) -> LanguageModel:
        model, end = small("llama", seed), VOCAB - 1
        tokens = [text.encode() for text in SPELT]
        table = TokenTable(tokens, frozenset({end}), (end,))
        monkeypatch.setattr(model, "places", Places(lambda: table, VOCAB))
        return model

    return made


@pytest.mark.parametrize(("seed", "penalty"), [(0, 0.0), (2, 2.0), (3, -1.0)])
def test_constrained_search_finds_the_best_allowed_text(spelling, seed, penalty):
    texts = {ids: t for ids, t in every_text("llama", seed).items() if keeps_to_it(ids)}
    assert 20 < len(texts) < len(every_text("llama", seed)) / 10
    best = max(texts, key=lambda ids: texts[ids] / len(ids) ** penalty)
    constraint = Constraint("regex", SOURCE)
    model = spelling(seed)
    how = {"length_penalty": penalty, "constraint": constraint}
    found = run(ExactSearch(model, PROMPT, TOKENS, **how))
    assert found.is_proven and found.token_ids == best
    assert found.logprob == pytest.approx(texts[best], abs=CLOSE)
    # All beginnings that could be read: up to four tokens, none of which is the end.
    beginnings = (ids for n in range(TOKENS) for ids in product(range(VOCAB - 1), repeat=n))
    assert found.visited < sum(may_begin("".join(SPELT[i] for i in ids)) for ids in beginnings)
    study = SearchErrorStudy(model, PROMPT, TOKENS, widths=(1, 3), **how)
    list(study.run())
    assert study.result.best.token_ids == best
    for miss in study.result.misses:
        assert keeps_to_it(miss.token_ids)
        assert miss.logprob == pytest.approx(texts[miss.token_ids], abs=CLOSE)


def test_dead_end_constraint_gives_a_clear_error(spelling):
    model = spelling(0)
    with pytest.raises(SettingError, match="allows none of this model's tokens"):
        ExactSearch(model, PROMPT, TOKENS, constraint=Constraint("choices", ["x"]))
    with pytest.raises(NoCandidatesError, match="constraint removed the last of them"):
        run(ExactSearch(model, PROMPT, TOKENS, constraint=Constraint("choices", ["ax"])))


# --- Search error ---------------------------------------------------------------------------------


def test_misses_match_a_search_of_all_texts():
    nats = []
    for seed in range(4):
        texts = every_text("llama", seed)
        best = max(texts.values())
        study = SearchErrorStudy(small("llama", seed), PROMPT, TOKENS, widths=(3, 1))
        assert [progress.width for progress in study.run()][:3] == [1, 3, None]
        assert study.result.logprob == pytest.approx(best, abs=CLOSE)
        assert [miss.width for miss in study.result.misses] == [1, 3]
        for miss in study.result.misses:
            assert miss.logprob == pytest.approx(texts[miss.token_ids], abs=CLOSE)
            assert miss.nats == pytest.approx(best - texts[miss.token_ids], abs=2 * CLOSE)
            assert miss.found == (best - texts[miss.token_ids] < CLOSE)
            nats.append(miss.nats)
    assert max(nats) > 0.05, "the cases are too easy to tell anything"


def test_cancelled_study_resumes():
    cancel = threading.Event()
    study = SearchErrorStudy(small("llama", 3), PROMPT, TOKENS, widths=(1, 2))
    for _ in study.run(cancel):
        cancel.set()
    with pytest.raises(RuntimeError, match="has not got to its exact search"):
        _ = study.result
    cancel.clear()
    for progress in study.run(cancel):
        if progress.exact:
            cancel.set()
    assert study.result.best.stopped == "cancelled"
    list(study.run())
    assert study.result.best.is_proven and len(study.result.misses) == 2


def test_search_stays_exact_beyond_the_family_limit(monkeypatch):
    texts = every_text("gpt2", 2)
    monkeypatch.setattr(exact_search, "_MOST_FAMILIES", 1)
    monkeypatch.setattr("engine.runner.branches.rows_at_once", lambda runners: 2)
    found = run(ExactSearch(small("gpt2", 2), PROMPT, TOKENS))
    assert found.is_proven and found.token_ids == max(texts, key=texts.get)
