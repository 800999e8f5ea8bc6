"""The chain in the page's form: unchanged by a round trip, and safe with any browser's input."""

import json
import math
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.processors import ByteLevel

from engine.errors import DecodingError, SettingError, TokenizerError
from engine.model import LanguageModel
from engine.model.vocabulary import Vocabulary
from engine.sampling import STAGES, SamplingSettings
from engine.sampling.samplers import (
    Banned,
    Dry,
    LogitBias,
    Mirostat,
    Stage,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.samplers import random_numbers
from tests.ui import hostile
from ui.texts import settings as chains
from ui.texts.settings import (
    BREAKERS,
    FIRST,
    MOST_ENTRIES,
    EventError,
    breaker_ids,
    edited_ids,
    fitted,
    is_one_number,
    parse_settings,
    plain_settings,
    shown_samplers,
    stage_defaults,
)

FOUR = {"order": list(FIRST), "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "seed": 0}

TOKENS = st.integers(0, 10**6)
OTHERS = {  # fields that are not numbers
    "logit_bias": {"bias": st.dictionaries(TOKENS, st.floats(-100, 100), min_size=1, max_size=9)},
    "dry": {"breakers": st.lists(TOKENS, max_size=9)},
    "banned": {
        "sequences": st.lists(st.lists(TOKENS, min_size=1, max_size=4), min_size=1, max_size=9)
    },
    "constraint": {
        "language": st.just("regex"),
        "source": st.sampled_from(["a+", "[0-9]{2}", "é|\n"]),
    },
}


def random_fields(kind: type[Stage]) -> st.SearchStrategy[dict[str, object]]:
    """Draw fields of a sampler that is on."""
    seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
    numbers = seeds.map(lambda rng: random_numbers(kind, rng))
    return st.builds(
        lambda numbers, others: numbers | others,
        numbers,
        st.fixed_dictionaries(OTHERS.get(kind.setting, {})),
    )


SEEDS = st.integers(0, 2**53 - 1)


@st.composite
def pages(draw):
    """Draw settings, and an order of cards with some switched off."""
    order = draw(st.lists(st.sampled_from(sorted(STAGES)), unique=True))
    on = [name for name in order if draw(st.booleans())]
    chain = [STAGES[name](**draw(random_fields(STAGES[name]))) for name in on]
    return SamplingSettings(chain=chain, seed=draw(SEEDS)), tuple(order)


def travelled(data: dict) -> object:
    return json.loads(json.dumps(data, allow_nan=False))


@given(pages())
def test_settings_survive_a_round_trip_to_page(page):
    chosen, order = page
    sent = plain_settings(chosen, order)
    assert sent.keys() == {"order", "seed", *order}
    assert parse_settings(travelled(sent)) == (chosen, order)
    on = [stage.setting for stage in chosen.chain]
    recorded = plain_settings(chosen)
    assert recorded["order"] == on, "without an order, only the samplers that are on"
    assert parse_settings(travelled(recorded))[0] == chosen
    shown = shown_samplers(chosen)
    assert [name for name in shown if name in on] == on
    assert set(shown) == {*on, *FIRST}
    assert parse_settings(plain_settings(chosen, shown)) == (chosen, shown)


def test_added_samplers_take_their_default_place():
    assert shown_samplers(SamplingSettings()) == FIRST
    assert shown_samplers(SamplingSettings(chain=[Xtc()])) == (*FIRST, "xtc")
    assert shown_samplers(SamplingSettings(chain=[Dry()])) == ("dry", *FIRST)
    turned = SamplingSettings(chain=[TopP(0.9), Temperature(0.5)])
    assert shown_samplers(turned) == ("top_k", "top_p", "temperature", "min_p")


def test_chain_follows_the_order_on_the_page():
    sent = {"order": ["top_p", "xtc", "temperature", "top_k"], "seed": 3}
    sent |= {"top_p": 0.9, "xtc": None, "temperature": 0.5, "top_k": 40.0}
    chosen, order = parse_settings(sent)
    assert chosen == SamplingSettings(chain=[TopP(0.9), Temperature(0.5), TopK(40)], seed=3)
    assert order == ("top_p", "xtc", "temperature", "top_k")


def test_removed_sampler_leaves_nothing_behind():
    chosen, order = parse_settings({**FOUR, "dry": {"multiplier": "what was left"}, "top_h": 0.4})
    assert (chosen, order) == (SamplingSettings(), FIRST)


@pytest.mark.parametrize(
    ("name", "value"),
    [("logit_bias", {"bias": []}), ("banned", {"sequences": []}), ("mirostat", None)],
)
def test_sampler_without_entry_is_off_but_kept(name, value):
    chosen, order = parse_settings({"order": [name], name: value})
    assert (chosen.chain, order) == ((), (name,))


DEEP: object = 1
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"order": "temperature"}, "an order of samplers that is none"),
        ({"order": [["temperature"]]}, "an order of samplers that is none"),
        ({"order": ["temperature"] * 500}, "an order of samplers that is none"),
        ({"order": ["temperature", "top_k", "temperature"]}, "the sampler temperature twice"),
        ({"order": ["heat"]}, "an unknown sampler, 'heat'"),
        ({"order": ["x" * 10**6]}, "an unknown sampler, 'xxx"),
        ({"heat": 3}, "an unknown setting, 'heat'"),
        ({"temperature": None}, "temperature = None, not a number"),
        ({"temperature": True}, "temperature = True, not a number"),
        ({"temperature": "hot"}, "temperature = 'hot', not a number"),
        ({"top_k": [DEEP]}, "not a number"),
        ({"temperature": "x" * 10**6}, "not a number"),
        ({"order": ["xtc"], "xtc": 0.1}, "xtc = 0.1, not its fields"),
        ({"order": ["xtc"], "xtc": [0.1, 0.5]}, "not its fields"),
        ({"order": ["xtc"], "xtc": True}, "xtc = True, not its fields"),
        ({"order": ["banned"], "banned": {"sequences": [[["x"]]]}}, "lists in lists in lists"),
        ({"order": ["banned"], "banned": {"sequences": DEEP}}, "lists in lists in lists"),
        ({"order": ["dry"], "dry": {"breakers": [10**30]}}, "a value that is too large"),
        ({"order": ["dry"], "dry": {"base": "x" * 10**6}}, "a value that is too large"),
    ],
)
def test_malformed_settings_are_refused(change, sentence):
    with pytest.raises(EventError) as error:
        parse_settings({**FOUR, **change})
    assert sentence in str(error.value)
    assert str(error.value).endswith(".") and len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "settings that are none"),
        ([["order", []]], "settings that are none"),
        ({"temperature": 0.7, "seed": 3}, "updated since this page was loaded; reload the page"),
    ],
)
def test_unknown_shape_of_settings_is_refused(data, said):
    with pytest.raises(EventError, match=said):
        parse_settings(data)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"top_p": 1.4}, "top_p must be above 0 and at most 1, got 1.4"),
        ({"top_k": 1.5}, "top_k must be"),
        ({"top_k": 10**400}, "top_k must be a finite number"),
        ({"temperature": math.nan}, "temperature must be a finite number"),
        ({"seed": -1}, "seed is out of range, got -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"seed": 2**53}, "Seed is out of range, got 9,007,199,254,740,992"),
        ({"order": ["dry"], "dry": {"base": 0}}, "dry.base must be between 1 and"),
        ({"order": ["dry"], "dry": {"__class__": 0}}, "dry has the wrong fields"),
        ({"order": ["xtc"], "xtc": {"threshold": [1]}}, "xtc.threshold must be a number"),
        ({"order": ["logit_bias"], "logit_bias": {"bias": [[3, 1e30]]}}, "logit_bias must be"),
        (
            {"order": ["logit_bias"], "logit_bias": {"bias": [[-3, 1]]}},
            "must not contain negative token ids",
        ),
        ({"order": ["banned"], "banned": {"sequences": [[]]}}, "an empty sequence"),
    ],
)
def test_value_out_of_range_gets_engine_error(change, sentence):
    with pytest.raises(SettingError) as error:
        parse_settings({**FOUR, **change})
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("banned", {"sequences": [[token] for token in range(MOST_ENTRIES // 2 - 1)]}),
        ("logit_bias", {"bias": [[token, 1.0] for token in range(MOST_ENTRIES // 3 - 1)]}),
        ("dry", {"breakers": list(range(MOST_ENTRIES - 1))}),
    ],
)
def test_long_lists_are_accepted_up_to_a_limit(name, largest):
    (stage,) = parse_settings({"order": [name], name: largest})[0].chain
    (key, entries), *_ = stage.to_dict().items() if name != "dry" else [("breakers", [])]
    assert len(entries) == len(largest[key]) or name == "dry"
    longer = {key: largest[key] * 2}
    with pytest.raises(SettingError, match=rf"{name} contains too many entries.*at most 2,000"):
        parse_settings({"order": [name], name: longer})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | TOKENS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(sorted(STAGES)), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELD_NAMES = sorted({name for kind in STAGES.values() for name in kind.__dataclass_fields__})


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(sorted(STAGES)), unique=True, max_size=6),
    st.data(),
)
def test_any_input_is_parsed_or_refused(order, data):
    fields = st.dictionaries(st.sampled_from(FIELD_NAMES), JSON, max_size=3)
    sent = {name: data.draw(JSON | fields) for name in order}
    try:
        chosen, cards = parse_settings({"order": order, **sent})
    except DecodingError as refusal:
        assert str(refusal).endswith(".")
    else:
        assert cards == tuple(order)
        assert parse_settings(travelled(plain_settings(chosen, cards))) == (chosen, cards)


# --- settings that depend on a model's tokens -----------------------------------------------------


def test_added_stage_starts_with_valid_values(bundled):
    defaults = travelled(stage_defaults(bundled.vocabulary))
    assert defaults.keys() == {name for name in STAGES if not is_one_number(name)}
    for name, values in defaults.items():
        chosen, order = parse_settings({"order": [name], name: values})
        assert order == (name,)
        assert bool(chosen.chain) == (name not in ("logit_bias", "banned"))
        chosen.check_vocabulary(bundled.vocab_size)


def test_breakers_are_line_break_and_mark_tokens(bundled):
    vocabulary = bundled.vocabulary
    texts = {vocabulary.token_bytes(token_id).strip(b" ") for token_id in breaker_ids(vocabulary)}
    assert texts == {text.encode() for text in BREAKERS}
    (line_break,) = vocabulary.encode("\n")[-1:]
    assert line_break in breaker_ids(vocabulary)


def test_unsuitable_tokenizer_has_no_breakers(model, monkeypatch):
    def refuses(*_, **__):
        raise TokenizerError("It takes too long; choose another model.")

    assert breaker_ids(model.vocabulary) == ()
    assert breaker_ids(LanguageModel(hostile.language_model(), None).vocabulary) == ()
    monkeypatch.setattr(model.vocabulary, "tokenizer", refuses)
    assert breaker_ids(model.vocabulary) == ()


def test_edited_ids_are_those_of_biases_and_bans():
    chain = [LogitBias({9: 1.0, 3: -2.0}), Banned([[4], [3, 8]]), TopK(5), Mirostat()]
    assert sorted(edited_ids(SamplingSettings(chain=chain))) == [3, 4, 8, 9]
    assert edited_ids(SamplingSettings(top_k=5)) == []


def test_model_with_same_tokens_keeps_all_settings(bundled):
    other = deepcopy(bundled.tokenizer)
    other.backend_tokenizer.post_processor = ByteLevel(trim_offsets=True)
    chosen = SamplingSettings(chain=[TopK(40), LogitBias({9: 1.0}), Dry(breakers=(3,))], seed=4)
    assert fitted(chosen, bundled, bundled) == (chosen, "")
    for size, kept in ((bundled.vocab_size, True), (bundled.vocab_size + 1, False)):
        after = SimpleNamespace(vocabulary=Vocabulary(other, size), vocab_size=size)
        assert (fitted(chosen, bundled, after)[0] == chosen) == kept


def test_model_with_other_tokens_drops_token_settings(bundled, model):
    chain = [TopK(9000), Temperature(0.5), LogitBias({9: 1.0}), Dry(breakers=(3,)), Banned([[4]])]
    chosen, sentence = fitted(SamplingSettings(chain=chain, seed=4), bundled, model)
    assert chosen == SamplingSettings(chain=[Temperature(0.5), Dry()], seed=4)
    assert "Top-k, Logit bias, Banned words" in sentence
    back, nothing = fitted(chosen, model, bundled)
    assert back.stage("dry").breakers == breaker_ids(bundled.vocabulary)
    assert nothing == ""


def test_new_page_shows_single_number_samplers():
    assert set(FIRST) <= STAGES.keys()
    assert list(FIRST) == [name for name in STAGES if name in FIRST]
    assert all(map(is_one_number, FIRST))
    assert chains.MOST == 2**53
