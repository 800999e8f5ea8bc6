"""A constraint on a text: it holds for every strategy, and after rewind, fork and trace."""

import json
import re

import jsonschema
import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.batch import Batch, Row
from engine.decoding.replay import replay
from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import NoCandidatesError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Constraint
from engine.sampling.speculation import SpeculativeSettings
from engine.study.sweep import Axis, Sweep
from engine.trace import Trace
from tests.engine import tiny_models

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 4},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
OBJECT = Constraint("json_schema", SCHEMA)
NUMBER = Constraint("regex", "-?[0-9]{2,6}\\.[0-9]{2}")
TOKENS = 60


@pytest.fixture(scope="module")
def model(text_hf, tokenizer) -> LanguageModel:
    """A tiny model that can end a text."""
    model = LanguageModel(text_hf, tokenizer, name="tiny text model")
    assert len(model.eos_ids) == 1
    return model


def settings(seed: int = 0, constraint: Constraint = NUMBER, **changes) -> SamplingSettings:
    return SamplingSettings(
        **{"temperature": 1.2, "seed": seed, "constraint": constraint} | changes
    )


def finished(text: Decoder, most: int = TOKENS) -> Decoder:
    for _ in text.run(most):
        pass
    return text


@pytest.mark.parametrize("seed", range(8))
def test_every_text_satisfies_its_constraint(model, seed):
    number = finished(Decoder(model, "a", settings(seed)))
    assert number.stop_reason == "eos" and re.fullmatch(r"-?\d{2,6}\.\d{2}", number.text)
    thing = finished(Decoder(model, "a", settings(seed, OBJECT)), 400)
    assert thing.stop_reason == "eos"
    jsonschema.validate(json.loads(thing.text), SCHEMA)


def test_text_ends_when_only_the_end_is_allowed(model):
    text = finished(Decoder(model, "a", settings(constraint=Constraint("choices", ["cat", "dog"]))))
    assert text.text in ("cat", "dog") and text.stop_reason == "eos"
    last = text.distribution(len(text.steps) - 1)
    assert last.survivors == 1 and last.stages[0].case == "end"
    text.step()  # only the end may follow the end
    assert text.steps[-1].token_id in model.eos_ids


def test_complete_text_without_end_token_raises_and_stays(text_model):
    text = Decoder(text_model, "a", settings(constraint=Constraint("choices", ["cat"])))
    with pytest.raises(NoCandidatesError, match="is complete and this model has no end-of-text"):
        finished(text)
    assert text.text == "cat"


def test_constraint_survives_rewind_fork_and_new_settings(model):
    lone = finished(Decoder(model, "a", settings(3)))
    assert len(lone.steps) > 4
    text = finished(Decoder(model, "a", settings(3)), 4)
    twin = text.fork()
    for length in (3, 1, 0):
        text.rewind(length)
        finished(text, 4)
        assert text.token_ids == lone.token_ids[:4]
    assert finished(twin).token_ids == lone.token_ids == finished(text).token_ids
    text.rewind(2)
    free = settings(3, constraint=None)
    text.settings = free
    finished(text, 5)
    text.settings = settings(3, Constraint("choices", ["now it holds"]))
    finished(text)
    assert text.text.endswith("now it holds") and text.stop_reason == "eos"
    assert [step.stage_state("constraint", "tokens") for step in text.steps[2:6]] == [
        *(None, None, None, 0)
    ]


def test_forced_wrong_token_blocks_steps_until_rewound(model):
    text = finished(Decoder(model, "a", settings(1)), 2)
    ids = text.token_ids
    wrong = int(np.argmin(text.next_distribution().probs))
    text.step(wrong)
    for _ in range(2):
        with pytest.raises(NoCandidatesError, match="as token 3 since it holds has left"):
            text.step()
    assert text.token_ids == [*ids, wrong]
    text.rewind(2)
    assert finished(text).token_ids == finished(Decoder(model, "a", settings(1))).token_ids


def test_constraint_is_named_when_bans_leave_no_token(model):
    digits = [[i] for i in range(model.vocab_size) if re.search(rb"[0-9]", _bytes(model, i))]
    text = Decoder(
        model, "a", settings(banned=Banned(digits), constraint=Constraint("regex", "[0-9]"))
    )
    with pytest.raises(NoCandidatesError, match="constraint took the last of them; loosen it"):
        text.step()


def _bytes(model: LanguageModel, token_id: int) -> bytes:
    return model.vocabulary.token_bytes(token_id)


def test_batch_keeps_to_the_constraint_like_decoders(model):
    rows = [Row("a", settings(seed), TOKENS) for seed in range(6)]
    rows += [Row("b", settings(seed, OBJECT), 200) for seed in range(2)]
    batch = Batch(model, rows)
    for _ in batch.run():
        pass
    for row, text in zip(rows, batch.texts, strict=True):
        assert text.error is None and text.stop_reason == "eos"
        lone = finished(Decoder(model, row.prompt, row.settings), row.max_tokens)
        assert text.token_ids == lone.token_ids


def test_sweep_keeps_to_the_constraint(model):
    axis = Axis("temperature", (0.7, 1.5))
    run = Sweep(settings(), axis, prompts=("a",), seeds=(0, 1), max_tokens=TOKENS).run(model)
    for _ in run:
        pass
    texts = run.result().texts
    assert len(texts) == 4 and set(texts["stop_reason"]) == {"eos"}
    assert all(re.fullmatch(r"-?\d{2,6}\.\d{2}", text) for text in texts["text"])


def test_trace_keeps_the_constraint_and_replays_identically(model, tmp_path):
    text = finished(Decoder(model, "a", settings(5)), 3)
    text.settings = settings(5, OBJECT)
    finished(text, 30)
    trace = Trace.load(text.trace().save(tmp_path / "run.json"))
    assert trace == text.trace()
    assert SamplingSettings.from_dict(trace.settings[0][1]) == settings(5)
    again = replay(trace, model)
    assert again.identical, again.differences


def test_constraint_holds_under_guidance_and_custom_order(model):
    text = Decoder(model, "a", settings(2), negative_prompt="b", guidance_scale=1.5)
    assert re.fullmatch(r"-?\d{2,6}\.\d{2}", finished(text).text)
    last = SamplingSettings(chain=[*settings(2).chain[::-1]], seed=2)
    assert re.fullmatch(r"-?\d{2,6}\.\d{2}", finished(Decoder(model, "a", last)).text)


def test_unusable_constraint_is_refused_at_once(model):
    bare = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="constraint needs the text of every token"):
        Decoder(bare, tiny_models.prompt(0), settings())
    with pytest.raises(SettingError, match="allows none of this model's tokens at the beginning"):
        Decoder(model, "a", settings(constraint=Constraint("lark", "start: start")))
    text = finished(Decoder(model, "a", settings()), 2)
    with pytest.raises(SettingError, match="unclosed character class"):
        text.settings = settings(constraint=Constraint("regex", "[a"))
    assert len(text.steps) == 2 and text.settings == settings()


def test_parity_refuses_a_constraint():
    with pytest.raises(SettingError, match="constraint has no counterpart in transformers"):
        SamplingSettings(constraint=NUMBER, parity=True)


@pytest.mark.parametrize("has_draft", [True, False], ids=["draft", "lookup"])
@pytest.mark.parametrize("constraint", [NUMBER, OBJECT], ids=["number", "object"])
def test_speculative_decoding_keeps_to_the_constraint(model, constraint, has_draft):
    """Check greedy text against a decoder's, then sampled text, which a rewind repeats."""
    draft = model if has_draft else None
    wanted = finished(Decoder(model, "a", settings(0, constraint, temperature=0)), 400)
    greedy = SpeculativeSettings(settings(0, constraint, temperature=0), 3, max_new_tokens=400)
    text = SpeculativeDecoder(model, "a", draft, greedy)
    assert list(text.run()) and text.token_ids == wanted.token_ids
    drawn = SpeculativeSettings(settings(5, constraint), 3, max_new_tokens=400)
    text = SpeculativeDecoder(model, "a", draft, drawn)
    assert list(text.run()) and text.stop_reason == "eos"
    if constraint is OBJECT:
        jsonschema.validate(json.loads(text.text), SCHEMA)
    else:
        assert re.fullmatch(r"-?\d{2,6}\.\d{2}", text.text)
    once = text.token_ids
    text.rewind(1)
    assert list(text.run()) and text.token_ids == once
