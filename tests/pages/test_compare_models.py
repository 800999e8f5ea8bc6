"""Comparisons with another model, and samples that wait for those of other visitors."""

import threading
import time

import pytest

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sweep import Axis, Sweep
from tests.pages.test_compare import PROMPT, ids, settle
from tests.ui import hostile
from ui.comparison import Comparison
from ui.sweep_work import SWEEPS_AT_ONCE, SweepWork

PATIENCE_S = 60


def made(context: int, template: str | None, name: str) -> LanguageModel:
    """A tiny model whose texts do not end by themselves."""
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.chat_template = template
    return LanguageModel(hostile.language_model(context=context), tokenizer, name=name)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return made(128, None, "plain")


@pytest.fixture(scope="module")
def chat_model() -> LanguageModel:
    """With a chat template and a shorter context."""
    return made(40, "w7|{{ messages[0]['content'] }}|w8", "chat")


@pytest.fixture
def comparison(model) -> Comparison:
    comparison = Comparison(model)
    comparison.set_prompt(PROMPT)
    settle(comparison)
    assert comparison.error == ""
    return comparison


def test_the_chat_template_ends_with_a_model_that_has_none(comparison, model, chat_model):
    comparison.load(chat_model)
    comparison.set_prompt(PROMPT, chat=True)
    assert comparison.error == ""
    with_template = len(comparison.columns[0].decoder.prompt_ids)
    changes = comparison.changes
    comparison.load(model)
    assert (comparison.model, comparison.chat, comparison.error) == (model, False, "")
    assert comparison.changes > changes  # the box that was ticked is not there to come back
    for column in comparison.columns:
        assert column.decoder.model is model
        assert len(column.decoder.prompt_ids) == with_template - 2


def test_a_model_comes_with_its_prompt_also_where_the_old_one_does_not_fit(comparison, chat_model):
    comparison.set_prompt("|".join(["w1"] * 60))
    settings = SamplingSettings(top_k=5, seed=11)
    comparison.take_over(chat_model, "w4|w5", True, settings, 2)
    settle(comparison)
    assert comparison.error == ""
    assert (comparison.model, comparison.prompt, comparison.chat) == (chat_model, "w4|w5", True)
    assert comparison.effective(comparison.column(2)) == settings
    decoder = Decoder(chat_model, chat_model.vocabulary.chat_ids("w4|w5"), settings)
    alone = [step.token_id for step in decoder.run(24)]
    assert ids(comparison.column(2)) == alone


def test_a_model_and_prompt_that_are_refused_leave_everything_and_say_why(comparison, chat_model):
    before = [ids(column) for column in comparison.columns]
    comparison.sample(1)
    held = comparison.model, comparison.prompt, comparison.chat, comparison.seed
    settings, sampling = comparison.column(2).settings, comparison.sampling
    too_long = "|".join(["w1"] * 60)
    comparison.take_over(chat_model, too_long, False, SamplingSettings(top_k=5, seed=11), 2)
    assert "60 tokens and the context of chat holds 40" in comparison.error
    assert (comparison.model, comparison.prompt, comparison.chat, comparison.seed) == held
    assert (comparison.column(2).settings, comparison.sampling) == (settings, sampling)
    assert [ids(column) for column in comparison.columns] == before


# --- the line of all visitors ---------------------------------------------------------------------


class Hold:
    """What `is_wanted` asks: says that a run has begun, and keeps it there."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> bool:
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        return True


def until(holds) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_samples_and_sweeps_of_many_visitors_share_one_line(model):
    sweep = Sweep(SamplingSettings(), Axis("temperature", (0.5, 1)), prompts=[PROMPT], max_tokens=4)
    work = SweepWork(sweep, model, [PROMPT])
    runs = []
    for _ in range(SWEEPS_AT_ONCE + 2):
        visitor = Comparison(model)
        visitor.set_max_tokens(4)
        runs.append(visitor.sample(1))
    *first, last, gone = runs
    holds = [Hold() for _ in first]
    try:
        for run, hold in zip(first, holds, strict=True):
            run.start(hold)
            assert hold.begun.wait(PATIENCE_S)
        gone.start(lambda: False)
        gone.wait(PATIENCE_S)
        assert (gone.is_running, gone.is_waiting, gone.samples()) == (False, False, [])
        last.start()
        until(lambda: last.is_waiting)
        assert last.progress == "Waiting for the sweeps and samples of other visitors"
        last.cancel()
        last.wait(PATIENCE_S)
        assert (last.is_running, last.is_waiting, last.samples()) == (False, False, [])
        last.start()
        work.start()
        until(lambda: last.is_waiting and work.is_waiting)
    finally:
        for hold in holds:
            hold.go_on.set()
    for run in (*first, last):
        run.wait(PATIENCE_S)
        assert run.is_done
    work.wait(PATIENCE_S)
    assert work.is_done
    assert not last.is_waiting
