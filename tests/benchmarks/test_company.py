"""Users who share one model: each does its stated work, and none fails silently."""

import time

import pytest

from benchmarks.measures import company
from benchmarks.measures.company import Pace, Seen, together
from engine.model import LanguageModel
from tests.engine import tiny_models


@pytest.fixture
def model() -> LanguageModel:
    return LanguageModel(tiny_models.build("llama", max_position_embeddings=1024))


def test_visitor_takes_all_steps_that_fit(model):
    seen = together(60.0, company.steps(model, Pace(0.01, 0.2)), company.steps(model, Pace(1, 2)))
    first, second = seen
    assert first.done == first.wanted == first.tokens == len(first.cpu_ms)
    assert 18 <= first.wanted <= 20 and second.done == second.wanted == 1
    every = Seen.of_all(seen)
    assert every.done == first.done + 1 and every.wanted == first.wanted + 1


def test_full_text_starts_again(model):
    model.context_length = company.PROMPT_TOKENS + 5
    seen = together(60.0, company.steps(model, Pace(0.001, 0.02)))[0]
    assert seen.done == seen.wanted > 5


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        (lambda model: company.batches(model, 3), 0),
        (company.sweeps, 0),
        (lambda model: company.prefills(model, 70), 1),
        (lambda model: company.contrastive(model, 3), 1),
        (lambda model: company.rebuilds(model, 4), 1),
    ],
    ids=["batches", "sweeps", "prefills", "contrastive", "rebuilds"],
)
def test_work_stops_when_time_is_over(model, work, steps, monkeypatch):
    monkeypatch.setattr(company, "SEARCHED", 20)
    over = [False] * 4 + [True] * 10
    seen = Seen()
    work(model)(seen, lambda: over.pop(0))
    assert seen.tokens > 0 and seen.done >= steps
    assert len(over) > 5, "it went on although it was over"


def test_step_after_eviction_rereads_the_text(model):
    over = [False] * 2 + [True]
    seen = Seen()
    company.rebuilds(model, 4)(seen, lambda: over.pop(0))
    assert seen.notes == [(company.PROMPT_TOKENS, 1, 1, 1, 1)] * 2


def test_error_of_one_user_is_raised():
    def fails(seen: Seen, over) -> None:
        raise ZeroDivisionError

    def works(seen: Seen, over) -> None:
        while not over():
            seen.time(lambda: time.sleep(0.001))

    with pytest.raises(ZeroDivisionError):
        together(0.1, works, fails)
    seen = together(0.05, works)[0]
    assert seen.done and seen.seconds > 0
