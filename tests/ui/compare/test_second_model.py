"""Columns that a second model writes, next to those of the page's model."""

import base64

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import ModelError, ServerError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.bundled import bundled
from tests.engine.backend.top_n import TopN
from tests.ui import hostile
from tests.ui.compare.comparing import PROMPT, ids, settle
from tests.ui.step.visitor import unpacked
from ui.compare.column import divergence
from ui.compare.comparison import MOST, Comparison
from ui.compare.view import cards, parting_data, parting_place
from ui.jobs import UNKNOWN
from ui.texts.texts import Beginning


@pytest.fixture(scope="module")
def second() -> LanguageModel:
    """A model with the same tokens and other weights."""
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    return LanguageModel(hostile.language_model(context=96, seed=1), tokenizer, name="second")


@pytest.fixture
def with_second(comparison, second) -> Comparison:
    comparison.load_second(second)
    settle(comparison)
    return comparison


def test_second_model_writes_a_new_column(with_second, model, second):
    *others, last = with_second.columns
    assert (with_second.model, with_second.second_model) == (model, second)
    assert [column.text.model for column in others] == [model] * 4
    assert last.settings == others[0].settings and last.title == "Greedy · second"
    alone = Decoder(second, PROMPT, with_second.inputs.effective(last))
    assert ids(last) == [step.token_id for step in alone.run(24)]
    assert "second; temperature 0" in cards(with_second)


def test_full_page_gives_its_last_column_to_the_second_model(comparison, second):
    while len(comparison.columns) < MOST:
        comparison.add()
    comparison.load_second(second)
    assert [column.own_model for column in comparison.columns] == [None] * (MOST - 1) + [second]


def test_distributions_are_those_of_each_columns_model(with_second, model, second):
    first, last = with_second.columns[0], with_second.columns[-1]
    for column in with_second.columns[1:-1]:
        with_second.remove(column.number)
    settle(with_second)
    place, data = parting_place(with_second.columns), parting_data(with_second)
    header, _ = unpacked(base64.b64decode(data["message"]))
    assert [column["row"] for column in header["columns"]] == [0, 1] and len(header["rows"]) == 2
    rows = []
    for column, its in ((first, model), (last, second)):
        alone = Decoder(its, PROMPT, with_second.inputs.effective(column))
        list(alone.run(place + 1))
        row = alone.logits(place).astype(np.float64)
        rows.append(row - np.log(np.exp(row - row.max()).sum()) - row.max())
    assert data["nats"] == pytest.approx(np.abs(rows[0] - rows[1]).max())
    one, two = (np.exp(row) for row in rows)
    assert data["kl_bits"] == pytest.approx((one * np.log2(one / two)).sum())
    assert data["variation"] == pytest.approx(np.abs(one - two).sum() / 2)
    assert data["shared"] == model.vocab_size


def test_only_tokens_that_both_models_list_are_compared(comparison, model):
    partial = TopN(model, 5)
    comparison.load_second(partial)
    comparison.adjust(comparison.columns[-1].number, temperature=1.0, top_k=5)
    settle(comparison)
    data = parting_data(comparison)
    header, _ = unpacked(base64.b64decode(data["message"]))
    assert header["rows"][1]["known"] == 5
    assert data["nats"] < 1e-5 and data["shared"] == 5  # the same weights
    assert data["kl_bits"] is data["variation"] is None


def test_column_changes_its_model(with_second, model, second):
    number = with_second.columns[1].number
    before = ids(with_second.column(number))
    with_second.use_model(number, second)
    settle(with_second)
    assert with_second.column(number).text.model is second
    with_second.use_model(number, model)
    settle(with_second)
    assert ids(with_second.column(number)) == before


def test_pages_model_is_no_second_one(comparison):
    columns = list(comparison.columns)
    with pytest.raises(ModelError, match="plain is the page's model"):
        comparison.load_second(comparison.model)
    assert comparison.columns == columns


def test_model_with_other_tokens_reads_the_prompt_with_its_own(comparison):
    other = bundled()
    comparison.load_second(other)
    settle(comparison)
    first, *_, last = comparison.columns
    assert last.has_other_tokens and comparison.error == ""
    alone = Decoder(other, PROMPT, comparison.inputs.effective(last))
    assert ids(last) == [step.token_id for step in alone.run(24)]
    assert parting_place(comparison.columns) is None and parting_data(comparison) is None
    parts = divergence(last, first)
    written = [b"".join(step.token_bytes for step in column.steps) for column in (last, first)]
    place = next(i for i, (here, there) in enumerate(zip(*written, strict=False)) if here != there)
    before = b"".join(step.token_bytes for step in last.steps[: parts.index])
    assert written[1].startswith(before) and len(before) <= place
    assert place < len(before + parts.here.token_bytes)
    assert other.vocabulary.label(parts.here.token_id) in cards(comparison).replace("␣", " ")
    comparison.sample(1, UNKNOWN)
    comparison.sampling.wait()
    texts = {sample.column: sample.text.text for sample in comparison.sampling.samples()}
    inputs = comparison.inputs
    again = Decoder(other, PROMPT, last.settings.replace(seed=inputs.seed))
    list(again.run(inputs.max_tokens))
    assert texts[last.number] == again.text


def test_settings_of_other_tokens_are_left_out_for_the_second_model(comparison):
    first = comparison.columns[0]
    comparison.set_settings(first.number, SamplingSettings(logit_bias={3: 2.0}, temperature=0.5))
    comparison.load_second(bundled())
    settle(comparison)
    last = comparison.columns[-1]
    assert [stage.name for stage in last.in_force.chain] == ["temperature"]


def test_second_model_that_becomes_the_pages_is_no_second_one(with_second, second):
    with_second.load(second)
    assert (with_second.model, with_second.second_model) == (second, None)


def test_text_of_the_second_model_is_taken_over_by_one_column(with_second, model, second):
    settings, number = SamplingSettings(top_k=5, seed=11), with_second.columns[1].number
    with_second.take_over(second, Beginning(PROMPT), settings, number)
    assert with_second.model is model
    assert [column.own_model for column in with_second.columns] == [None, second] + [None] * 2 + [
        second
    ]


def test_record_names_the_second_model(with_second, model, second):
    texts = [ids(column) for column in with_second.columns]
    other = bundled()
    models = {"memory": model, "other": second, "changed": other}
    record = with_second.record()
    record["columns"][-1]["model"]["source"] = "other"
    again = Comparison.restored(record, lambda source, _: models[source])
    settle(again)
    assert [ids(column) for column in again.columns] == texts
    assert again.said == "The texts were generated again. All tokens are the same."

    record["columns"][-1]["model"]["source"] = "changed"
    changed = Comparison.restored(record, lambda source, _: models[source])
    assert changed.second_model is other and changed.columns[-1].has_other_tokens
    record["columns"][-1]["model"]["source"] = "other"

    def lost(source, _):
        if source == "other":
            raise ServerError("{server} cannot be reached.", "it")
        return model

    without = Comparison.restored(record, lost)
    assert (without.error, without.second_model) == ("it cannot be reached.", None)
    assert len(without.columns) == len(texts)


def test_samples_of_both_models_are_named(with_second):
    with_second.change(max_tokens=4)
    with_second.sample(2, UNKNOWN)
    run = with_second.sampling
    run.wait()
    assert (run.is_done, run.texts_done) == (True, 10)
    named = run.frame().groupby("column")["model"].unique().map(list).to_list()
    assert named == [["plain"]] * 4 + [["second"]]
