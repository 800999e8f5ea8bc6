"""Comparisons with a different model."""

import pytest

from engine.decoder import Decoder
from engine.errors import PromptError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.presets import PRESETS
from tests.ui import hostile
from tests.ui.compare.comparing import PROMPT, ids, settle
from ui.compare.comparison import MOST, Comparison
from ui.compare.sampling_run import KeptSamples, SamplesRecord
from ui.jobs import UNKNOWN
from ui.texts.texts import Beginning
from ui.visits.records import read


@pytest.fixture(scope="module")
def chat_model() -> LanguageModel:
    """A model with a chat template and a shorter context."""
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.chat_template = "w7|{{ messages[0]['content'] }}|w8"
    return LanguageModel(hostile.language_model(context=40), tokenizer, name="chat")


def test_small_vocabulary_omits_presets_it_cannot_use(model, monkeypatch):
    monkeypatch.setitem(PRESETS, "Top-k 50", SamplingSettings(top_k=model.vocab_size + 1))
    comparison = Comparison(model)
    names = [column.preset for column in comparison.columns]
    assert names == ["Greedy", "Pure sampling", "Nucleus: p 0.9, T 0.7"]
    while len(comparison.columns) < MOST:
        comparison.add()
        assert comparison.error == ""
    assert "Top-k 50" not in comparison.presets


def test_a_column_that_cannot_begin_is_not_added(comparison, monkeypatch):
    columns = list(comparison.columns)

    def refused(*_: object) -> None:
        raise PromptError("The prompt is empty.")

    monkeypatch.setattr("ui.compare.comparison.Decoder", refused)
    comparison.add()
    monkeypatch.undo()
    assert comparison.columns == columns
    assert comparison.error == "The prompt is empty."
    comparison.add()
    settle(comparison)
    assert {column.length for column in comparison.columns} == {24}
    assert len(comparison.columns) == 5


def test_chat_template_is_dropped_if_model_lacks_one(comparison, model, chat_model):
    comparison.load(chat_model)
    comparison.change(prompt=PROMPT, chat=True)
    assert comparison.error == ""
    with_template = len(comparison.columns[0].text.prompt_ids)
    comparison.load(model)
    assert (comparison.model, comparison.inputs.chat, comparison.error) == (model, False, "")
    for column in comparison.columns:
        assert column.text.model is model
        assert len(column.text.prompt_ids) == with_template - 2


def test_samples_record_whether_chat_was_used(comparison, chat_model):
    comparison.load(chat_model)
    comparison.change(prompt=PROMPT, chat=True)
    comparison.sample(1, UNKNOWN)
    run = comparison.sampling
    run.wait()
    comparison.change(prompt=PROMPT, chat=False)
    assert run.chat and KeptSamples(read(run.record(), SamplesRecord), chat_model).chat


def test_model_and_prompt_are_taken_over_together(comparison, chat_model):
    comparison.change(prompt="|".join(["w1"] * 60))
    settings = SamplingSettings(top_k=5, seed=11)
    comparison.take_over(chat_model, Beginning("w4|w5", chat=True), settings, 2)
    settle(comparison)
    assert comparison.error == ""
    inputs = comparison.inputs
    assert (comparison.model, inputs.prompt, inputs.chat) == (chat_model, "w4|w5", True)
    assert comparison.inputs.effective(comparison.column(2)) == settings
    decoder = Decoder(chat_model, chat_model.vocabulary.chat_ids("w4|w5"), settings)
    alone = [step.token_id for step in decoder.run(24)]
    assert ids(comparison.column(2)) == alone


def test_refused_model_and_prompt_change_nothing(comparison, chat_model):
    before = [ids(column) for column in comparison.columns]
    comparison.sample(1, UNKNOWN)
    held = comparison.model, comparison.inputs
    settings, sampling = comparison.column(2).settings, comparison.sampling
    too_long = "|".join(["w1"] * 60)
    new = SamplingSettings(top_k=5, seed=11)
    comparison.take_over(chat_model, Beginning(too_long), new, 2)
    assert "60 tokens, but chat reads at most 40" in comparison.error
    assert (comparison.model, comparison.inputs) == held
    assert (comparison.column(2).settings, comparison.sampling) == (settings, sampling)
    assert [ids(column) for column in comparison.columns] == before
