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
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Constraint
from engine.sampling.speculation import SpeculativeSettings
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


def settings(seed: int = 0, constraint: Constraint = NUMBER, **changes) -> SamplingSettings:
    return SamplingSettings(
        **{"temperature": 1.2, "seed": seed, "constraint": constraint} | changes
    )


def finished(text: Decoder, most: int = TOKENS) -> Decoder:
    for _ in text.run(most):
        pass
    return text


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.long) for s in (2, 3))])
def test_every_text_satisfies_its_constraint(ending_model, seed):
    number = finished(Decoder(ending_model, "a", settings(seed)))
    assert number.stop_reason == "eos" and re.fullmatch(r"-?\d{2,6}\.\d{2}", number.text)
    thing = finished(Decoder(ending_model, "a", settings(seed, OBJECT)), 400)
    assert thing.stop_reason == "eos"
    jsonschema.validate(json.loads(thing.text), SCHEMA)


def test_text_ends_when_only_the_end_is_allowed(ending_model):
    text = finished(
        Decoder(ending_model, "a", settings(constraint=Constraint("choices", ["cat", "dog"])))
    )
    assert text.text in ("cat", "dog") and text.stop_reason == "eos"
    last = text.distribution(len(text.steps) - 1)
    assert last.survivors == 1 and last.stages[0].case == "end"
    text.step()  # only the end may follow the end
    assert text.steps[-1].token_id in ending_model.eos_ids


def test_complete_text_without_end_token_raises_and_stays(text_model):
    text = Decoder(text_model, "a", settings(constraint=Constraint("choices", ["cat"])))
    with pytest.raises(NoCandidatesError, match="is complete"):
        finished(text)
    assert text.text == "cat"


def test_constraint_survives_rewind_fork_and_new_settings(ending_model):
    lone = finished(Decoder(ending_model, "a", settings(3)))
    assert len(lone.steps) > 4
    text = finished(Decoder(ending_model, "a", settings(3)), 4)
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


def test_forced_wrong_token_blocks_steps_until_rewound(ending_model):
    text = finished(Decoder(ending_model, "a", settings(1)), 2)
    ids = text.token_ids
    wrong = int(np.argmin(text.next_distribution().probs))
    text.step(wrong)
    for _ in range(2):
        with pytest.raises(NoCandidatesError, match="token 3 "):
            text.step()
    assert text.token_ids == [*ids, wrong]
    text.rewind(2)
    assert finished(text).token_ids == finished(Decoder(ending_model, "a", settings(1))).token_ids


def test_constraint_is_named_when_bans_leave_no_token(ending_model):
    token_bytes = ending_model.vocabulary.token_bytes
    digits = [[i] for i in range(ending_model.vocab_size) if re.search(rb"[0-9]", token_bytes(i))]
    text = Decoder(
        ending_model, "a", settings(banned=Banned(digits), constraint=Constraint("regex", "[0-9]"))
    )
    with pytest.raises(NoCandidatesError, match="constraint removed the last"):
        text.step()


def test_batch_keeps_to_the_constraint_like_decoders(ending_model):
    rows = [Row("a", settings(seed), TOKENS) for seed in range(2)]
    rows.append(Row("b", settings(0, OBJECT), 200))
    batch = Batch(ending_model, rows)
    for _ in batch.run():
        pass
    for row, text in zip(rows, batch.texts, strict=True):
        assert text.error is None and text.stop_reason == "eos"
        lone = finished(Decoder(ending_model, row.prompt, row.settings), row.max_new_tokens)
        assert text.token_ids == lone.token_ids


def test_trace_keeps_the_constraint_and_replays_identically(ending_model, tmp_path):
    text = finished(Decoder(ending_model, "a", settings(5)), 3)
    text.settings = settings(5, OBJECT)
    finished(text, 30)
    trace = Trace.load(text.trace().save(tmp_path / "run.json"))
    assert trace == text.trace()
    assert SamplingSettings.from_dict(trace.settings[0][1]) == settings(5)
    again = replay(trace, ending_model)
    assert again.identical, again.differences


def test_constraint_holds_under_guidance_and_custom_order(ending_model):
    text = Decoder(ending_model, "a", settings(2), negative_prompt="b", guidance_scale=1.5)
    assert re.fullmatch(r"-?\d{2,6}\.\d{2}", finished(text).text)
    last = SamplingSettings(chain=[*settings(2).chain[::-1]], seed=2)
    assert re.fullmatch(r"-?\d{2,6}\.\d{2}", finished(Decoder(ending_model, "a", last)).text)


def test_unusable_constraint_is_refused_at_once(ending_model):
    bare = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="constraint needs"):
        Decoder(bare, tiny_models.prompt(0), settings())
    with pytest.raises(SettingError, match="allows none of"):
        Decoder(ending_model, "a", settings(constraint=Constraint("lark", "start: start")))
    text = finished(Decoder(ending_model, "a", settings()), 2)
    with pytest.raises(SettingError, match="unclosed character class"):
        text.settings = settings(constraint=Constraint("regex", "[a"))
    assert len(text.steps) == 2 and text.settings == settings()


@pytest.mark.parametrize(
    ("has_draft", "constraint"),
    [
        (True, NUMBER),
        (False, OBJECT),
        pytest.param(True, OBJECT, marks=pytest.mark.long),
        pytest.param(False, NUMBER, marks=pytest.mark.long),
    ],
)
def test_speculative_decoding_keeps_to_the_constraint(ending_model, constraint, has_draft):
    draft = ending_model if has_draft else None
    wanted = finished(Decoder(ending_model, "a", settings(0, constraint, temperature=0)), 400)
    greedy = SpeculativeSettings(settings(0, constraint, temperature=0), 3, max_new_tokens=400)
    text = SpeculativeDecoder(ending_model, "a", draft, greedy)
    assert list(text.run()) and text.token_ids == wanted.token_ids
    drawn = SpeculativeSettings(settings(5, constraint), 3, max_new_tokens=400)
    text = SpeculativeDecoder(ending_model, "a", draft, drawn)
    assert list(text.run()) and text.stop_reason == "eos"
    if constraint is OBJECT:
        jsonschema.validate(json.loads(text.text), SCHEMA)
    else:
        assert re.fullmatch(r"-?\d{2,6}\.\d{2}", text.text)
    once = text.token_ids
    text.rewind(1)
    assert list(text.run()) and text.token_ids == once
