"""Every value of a loaded trace: its type, its range, its agreement with the others."""

import json
import math
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.sampling import SamplingSettings
from engine.trace import Trace
from engine.trace.values import shown
from tests.engine.traces import EXAMPLE, OLD_TRACES

VOCAB = EXAMPLE.model["vocab_size"]
HUGE = "x" * 5_000_000


def plain(trace: Trace = EXAMPLE) -> dict:
    return json.loads(trace.to_json())


def message_of(data: object) -> str:
    with pytest.raises(TraceError) as caught:
        Trace.from_dict(data)
    message = str(caught.value)
    assert len(message) <= 500, f"a message of {len(message):,} characters: {message[:600]}"
    assert message.endswith(".") and "\n" not in message, message
    return message


def changed(path: tuple, value: object, data: dict | None = None) -> dict:
    """A trace with another value at a place; the last name is put in where it is new."""
    data = plain() if data is None else data
    inner = data
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            ("prompt_ids", 1),
            10**30,
            "prompt_ids[1] must be a token id from 0 to 16,383, got a numb",
        ),
        (("prompt_ids", 0), -5, "prompt_ids[0] must be a token id from 0 to 16,383, got -5;"),
        (("prompt_ids", 0), VOCAB, "prompt_ids[0] must be a token id from 0 to 16,383"),
        (("prompt_ids",), [], "prompt_ids must hold at least one token"),
        (("steps", 2, "token_id"), 10**30, "step 2: token_id must be a token id from 0 to 16,383"),
        (("steps", 1, "token_id"), -5, "step 1: token_id must be a token id from 0 to 16,383, got"),
        (("steps", 1, "token_id"), VOCAB, "step 1: token_id must be a token id"),
        (("steps", 1, "rank"), 0, "step 1: rank must be a whole number from 1 to 16,384, got 0;"),
        (("steps", 1, "survivors"), VOCAB + 1, "step 1: survivors must be a whole number from 1"),
        (("steps", 1, "u"), 1.0, "step 1: u must be a number from 0 to below 1, got 1.0;"),
        (("steps", 1, "u"), -0.1, "step 1: u must be a number from 0 to below 1"),
        (("steps", 1, "probability"), 1.5, "step 1: probability must be a number from 0 to 1, got"),
        (("steps", 1, "logprob"), 0.5, "step 1: logprob must be a finite number of at most 0"),
        (("steps", 1, "logit"), math.inf, "step 1: logit must be a finite number, got inf;"),
        (("steps", 1, "logit"), 10**400, "step 1: logit must be a finite number, got a number of"),
        (("steps", 1, "entropy_bits"), -2.0, "step 1: entropy_bits must be a number from 0 to 64"),
        (("steps", 1, "forward_ms"), -1.0, "step 1: forward_ms must be a finite number of at leas"),
        (("steps", 1, "total_ms"), math.nan, "step 1: total_ms must be a finite number of at leas"),
        (("steps", 1, "cache_bytes"), -1, "step 1: cache_bytes must be a whole number from 0, got"),
        (("steps", 1, "cache_bytes"), 2**63, "step 1: cache_bytes must be a whole number from 0"),
        (
            ("steps", 1, "stop_reason"),
            "tired",
            "step 1: stop_reason must be one of max_tokens, eos",
        ),
        (("steps", 1, "text"), HUGE, "step 1: text must be text of at most 65,536 characters, got"),
        (("steps", 1, "text"), "\ud800", "step 1: text must be text that UTF-8 can hold, got"),
        (("steps", 1, "token_bytes"), "ab" * 2**17, "step 1: token_bytes must be at most 65,536"),
        (("steps", 1, "stop_string"), HUGE, "step 1: stop_string must be text of at most"),
        (("steps", 1, HUGE), 1, "step 1: xxx"),
        (("steps", 1, "sharpness"), 1, "step 1: sharpness is not known to this version; update"),
        (("steps", 1, "index"), HUGE, "step 1: index must be a whole number from 0, got 'xxx"),
        (("steps", 0, "stages", 1, "name"), "top_k", "step 0: stages names 'top_k', which the set"),
        (("steps", 0, "stages", 1, "mass_removed"), 2, "step 0: stages[1].mass_removed must be"),
        (("steps", 0, "guidance_scale"), 1.5, "step 0: guidance_scale stands in a trace without"),
        (("model", "vocab_size"), 0, "model.vocab_size must be a whole number from 1 to"),
        (("model", "vocab_size"), 10**30, "model.vocab_size must be a whole number from"),
        (("model", "vocab_size"), "96", "model.vocab_size must be a whole number from 1"),
        (("model", "parameters"), math.inf, "model.parameters must be a finite number, got inf"),
        (("model", "parameters"), "many", "model.parameters must be a whole number from 0"),
        (("model", "kernels"), {"threads": 1e999}, "model.kernels.threads must be a finite number"),
        (("model", "name"), HUGE, "model.name must be text of at most 10,000 characters, got 5,0"),
        (("model", HUGE), 1, "model has a fact with the name 'xxx"),
        (("model", "x"), {"y": {"z": {"deep": {}}}}, "model.x.y.z must be text, a number"),
        (("model", "x"), dict.fromkeys(map(str, range(101))), "at most 100 facts, got 101"),
        (("model", "x"), [1], "model.x must be text, a number, true, false or nothing, got a list"),
        (("model",), HUGE, "model must be an object, got 'xxx"),
        (("strategy",), "guessing", "strategy must be one of sampling, guidance, contrastive,"),
        (("strategy",), HUGE, "strategy must be one of"),
        (("strategy",), "guidance", "guidance does not fit the strategy guidance"),
        (("guidance",), {}, "guidance does not fit the strategy sampling"),
        (("colour",), 1, "colour is not known to this version; update the app"),
        (("stop_strings", 0), HUGE, "stop_strings[0] must be text of at most 65,536"),
        (("version",), HUGE, "has format version 'xxx"),
        (("version",), 10**4000, "has format version a number of about"),
        (("settings",), [], "settings must be a list with an entry for step 0, got a list of 0"),
        (("settings", 0, 0), 1, "settings[0] must begin at a step from 0 to 0, got 1"),
        (("settings", 0, 0), -1, "settings[0] must begin at a step from 0 to 0, got -1"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, (str, tuple)) else "",
)
def test_a_value_out_of_range_is_refused_by_its_place(path, value, said):
    assert said in message_of(changed(path, value))


GOOD = SamplingSettings(temperature=0.7, top_p=0.9).to_dict()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"chain": "nonsense", "seed": 0}, "settings[0] are refused: settings must hold a chain"),
        ({"chain": [["top_p", {"p": 7}]], "seed": 0}, "settings[0] are refused: top_p must be"),
        ({"chain": [["top_q", {"q": 1}]], "seed": 0}, "settings[0] are refused: top_q is not a s"),
        ({"chain": [[HUGE, {}]], "seed": 0}, "settings[0] are refused: xxx"),
        ({"chain": [["top_p", {"q": 0.5}]], "seed": 0}, "are refused: top_p has other fields"),
        ({"chain": [["top_p", {HUGE: 0.5}]], "seed": 0}, "are refused: top_p has other fields"),
        ({"chain": [["top_k", {"k": 10**400}]], "seed": 0}, "settings[0] are refused: top_k"),
        ({"chain": [["top_p", {"p": 0.9}]] * 2, "seed": 0}, "chain holds a stage twice"),
        ({"chain": [["logit_bias", {"biases": {"1": HUGE}}]], "seed": 0}, "settings[0]"),
        ({"chain": [["logit_bias", {"biases": [[VOCAB, 1.0]]}]], "seed": 0}, "settings[0]"),
        (GOOD | {"seed": -1}, "settings[0] are refused: seed is out of range"),
        (GOOD | {"seed": None}, "settings[0] name no seed, so the draws cannot be repeated"),
        (GOOD | {"parity": 1}, "settings[0] are refused: parity must be true or false"),
        (GOOD | {"mood": "good"}, "settings[0].mood is not known to this version"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_settings_that_build_no_chain_are_refused(values, said):
    assert said in message_of(changed(("settings", 0, 1), values))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ([0, GOOD], "settings[1] must begin at a step from 1 to 3, got 0"),
        ([4, GOOD], "settings[1] must begin at a step from 1 to 3, got 4"),
        ([True, GOOD], "settings[1] must begin at a step from 1 to 3, got true"),
        ([1], "settings[1] must be a step and its settings, got a list of 1"),
    ],
)
def test_settings_must_follow_each_other(second, said):
    data = plain()
    data["settings"].append(second)
    assert said in message_of(data)


def test_settings_of_the_step_to_come_are_taken():
    data = plain()
    data["settings"].append([3, GOOD])
    assert Trace.from_dict(data).settings[1][0] == 3


def test_a_prompt_may_hold_ids_that_the_model_only_takes_in():
    data = changed(("model", "input_size"), VOCAB + 10)
    data["prompt_ids"][0] = VOCAB + 9
    assert Trace.from_dict(data).prompt_ids[0] == VOCAB + 9
    data["steps"][0]["token_id"] = VOCAB + 9
    assert "step 0: token_id must be a token id from 0 to 16,383" in message_of(data)


def test_figures_that_rounding_moved_out_of_their_range_are_taken():
    data = plain()
    data["steps"][0] |= {"probability": 1.0000000000000002, "entropy_bits": -1e-16}
    data["steps"][0] |= {"logprob": 1e-12, "cache_bytes": 0, "u": 0}
    assert Trace.from_dict(data).steps[0].u == 0.0


# --- The other strategies -------------------------------------------------------------------------


def search() -> dict:
    return plain(Trace.load(OLD_TRACES / "contrastive-2.json"))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("settings", 0, 1, "top_k"), 0, "settings[0].top_k must be a whole number from 1 to"),
        (("settings", 1, 1, "top_k"), 5, "step 1: comes with another top_k, which cannot change"),
        (("settings", 0, 1, "penalty_alpha"), 2, "settings[0].penalty_alpha must be a number from"),
        (("settings", 0, 1, "penalty_alpha"), 0.5, "step 0: penalty_alpha must be 0.5, as in the"),
        (("settings", 0, 1, "samplers"), [], "settings[0].samplers is not known to this version"),
        (("steps", 1, "chosen"), 9, "step 1: chosen must be the place of the token, got 9"),
        (("steps", 1, "chosen"), -1, "step 1: chosen must be a whole number from 0, got -1"),
        (("steps", 1, "candidates"), [], "step 1: candidates must hold 1 to 4, as top_k says, got"),
        (("steps", 1, "candidates", 2, "penalty"), 3, "candidates[2].penalty must be a number fro"),
        (("steps", 1, "candidates", 2, "nearest"), 5, "step 1: candidates must be positions befor"),
        (("steps", 1, "candidates", 2, "token_id"), -1, "step 1: candidates[2].token_id must be"),
        (("steps", 1, "passes"), -1, "step 1: passes must be a whole number from 0"),
    ],
    ids=str,
)
def test_a_search_that_contradicts_itself_is_refused(path, value, said):
    assert said in message_of(changed(path, value, search()))


# --- Anything at all ------------------------------------------------------------------------------

SEEDS = {
    name: json.loads(Trace.load(OLD_TRACES / f"{name}.json").to_json())
    for name in ("sampling-2", "guidance-2", "contrastive-2")
}
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([10**30, -5, 2**63, 10**400, 1e308, HUGE, "\ud800", "top_p", [[]] * 3_000]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(data: object, before: tuple = ()) -> Iterator[tuple]:
    """Paths of all values within a plain value."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for name, value in pairs:
        yield (*before, name)
        if isinstance(value, (dict, list)):
            yield from places(value, (*before, name))


PLACES = {name: list(places(data)) for name, data in SEEDS.items()}


@given(
    data=st.data(),
    name=st.sampled_from(sorted(SEEDS)),
    kind=st.sampled_from(["another", "gone", "new", "twice", "swapped"]),
)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_change_of_a_file_is_taken_or_refused_in_a_short_sentence(data, name, kind):
    changed_to = json.loads(json.dumps(SEEDS[name]))
    path = data.draw(st.sampled_from(PLACES[name]))
    inner = changed_to
    for key in path[:-1]:
        inner = inner[key]
    if kind == "gone":
        del inner[path[-1]]
    elif kind == "new" and isinstance(inner, dict):
        inner[data.draw(st.text(max_size=20))] = data.draw(anything)
    elif kind == "twice" and isinstance(inner, list):
        inner.insert(path[-1], inner[path[-1]])
    elif kind == "swapped":
        other = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else [0]))
        inner[path[-1]], inner[other] = inner[other], inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(anything)
    try:
        trace = Trace.from_dict(changed_to)
    except TraceError as error:
        assert len(str(error)) <= 500, f"{len(str(error)):,} characters: {error!s:.600}"
        return
    # Whatever loads is a whole trace: it can be used and saved again.
    assert Trace.from_dict(json.loads(trace.to_json())) == trace
    assert len(trace.to_frame()) == len(trace.steps)
    assert trace.text is not None and len(trace.token_ids) == len(trace.steps)


@given(anything)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_value_is_shown_in_few_characters(value):
    assert len(shown(value)) <= 80
