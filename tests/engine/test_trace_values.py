"""Every value of a loaded trace: its type, its range, and indices outside a table."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.trace import Trace
from tests.engine.test_trace_strategies import made_by
from tests.engine.traces import EXAMPLE, OLD_TRACES

VOCAB = EXAMPLE.model["vocab_size"]
HUGE = "x" * 5_000_000


def message_of(text: str) -> str:
    with pytest.raises(TraceError) as caught:
        Trace.from_json(text)
    message = str(caught.value)
    assert len(message) <= 500 and message.endswith(".") and "\n" not in message, message[:600]
    return message


def changed(path: tuple, value: object, trace: Trace = EXAMPLE) -> str:
    """The text of a trace's file with a new value at a path; a new name is added."""
    data = inner = json.loads(trace.to_json())
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return json.dumps(data)


SAMPLED = [
    (("prompt_ids", 1), 10**30, "prompt_ids[1] must be a whole number of at most 9"),
    (("prompt_ids", 0), -5, "prompt_ids[0] must be a whole number of at least 0, got -5; save"),
    (("prompt_ids", 0), VOCAB, "prompt_ids must contain token ids from 0 to 16,383, got 16,384"),
    (("prompt_ids",), [], "prompt_ids must be a list of length 1 or more"),
    (("steps", 1, "token_id"), VOCAB, "must contain token ids from 0 to 16,383, got 16,384"),
    (("steps", 1, "rank"), 0, "step 1: rank must be a whole number of at least 1, got 0;"),
    (("steps", 1, "u"), 1.0, "step 1: u must be a number below 1.0, got 1.0;"),
    (("steps", 1, "logit"), "3", 'step 1: logit must be a number or nothing, got "3"'),
    (("steps", 1, "logit"), 10**400, "step 1: logit must be a number within the supported range"),
    (("steps", 1, "probability"), 1.5, "step 1: probability must be a number of at most 1.0"),
    (("steps", 1, "entropy_bits"), -2.0, "step 1: entropy_bits must be a number of at least -1e"),
    (("steps", 1, "cache_bytes"), 2**63, "step 1: cache_bytes must be a whole number of at most"),
    (("steps", 1, "forced"), 1, "step 1: forced must be true or false, got 1"),
    (("steps", 1, "stop_reason"), "tired", "stop_reason must be one of those this version knows"),
    (("steps", 1, "text"), HUGE, "step 1: text must be text of length 65536 or less, got"),
    (("steps", 1, "text"), None, "step 1: text must be text, got null"),
    (("steps", 1, "token_bytes"), "ab" * 2**17, "step 1: token_bytes must be at most 65,536 by"),
    (("steps", 1, "token_bytes"), "zz", "step 1: token_bytes must be hexadecimal text"),
    (("steps", 1, "index"), 2, "step 1: index must be 1, got 2"),
    (("steps", 1), 3, "step 1: must be an object, got 3"),
    (("steps", 0, "stages", 1), {"name": "a"}, "step 0: stages[1].survivors is missing"),
    (("steps",), 3, "steps must be an object or a list, got 3"),
    (("model", "vocab_size"), 0, "model.vocab_size must be a whole number of at least 1, got 0"),
    (("model", "parameters"), "many", "model.parameters must be a whole number, got 'many'"),
    (("model", "name"), HUGE, "model[...] must be text of length 10000 or less, got something"),
    (("model", HUGE), 1, "model"),
    (("model", "x"), {"y": {"z": {"deep": {}}}}, "model[...][...][...] must be true or false"),
    (("model",), HUGE, 'model must be an object, got "xxx'),
    (("strategy",), HUGE, "strategy must be one of sampling, guidance, contrastive"),
    (("strategy",), "guidance", "guidance does not fit the strategy guidance"),
    (("colour",), 1, "colour is not known to this version; save"),
    (("stop_strings", 0), HUGE, "stop_strings[0] must be text of length 65536 or less"),
    (("version",), HUGE, 'has format version "xxx'),
    (("settings",), [], "settings must be a list of length 1 or more, got []"),
    (("settings", 0), [0], "settings[0] must be a list of length 2"),
    (
        ("settings", 0, 1),
        {"chain": "nonsense"},
        "settings[0] are refused: settings must contain a c",
    ),
    (("settings", 0, 1, "chain"), [["top_p", {"p": 7}]], "settings[0] are refused: top_p must be"),
    (("settings", 0, 1, "chain"), [[HUGE, {}]], "settings[0] are refused: xxx"),
    (("settings", 0, 1, "chain"), [["logit_bias", {"biases": {"1": HUGE}}]], "settings[0]"),
    (("settings", 0, 1, "chain"), [["logit_bias", {"biases": [[VOCAB, 1.0]]}]], "settings[0]"),
]
OTHERS = [
    (
        "beam",
        ("steps",),
        {"tokens": [1]},
        "steps must be a list, as a step consists of more than a token",
    ),
    ("contrastive", ("steps", 1, "chosen"), 9, "step 1: chosen must be below 3, got 9"),
    (
        "contrastive",
        ("steps", 1, "candidates", 2, "token_id"),
        96,
        "step 1: must contain token ids",
    ),
    ("contrastive", ("settings", 0, 1, "top_k"), 0, "settings[0].top_k must be a whole number of"),
    ("contrastive", ("settings", 0, 1, "k"), 1, "settings[0].k is not known to this version"),
    ("diffusion", ("steps", 1, "u"), [], "step 1: every row must have "),
    ("diffusion", ("steps", 1, "unmasked", 0), 999, "step 1: every row must have "),
    ("diffusion", ("steps", 1, "ids_after", 0), 10**9, "step 1: must contain token ids from 0 to "),
    ("diffusion", ("settings", 0, 1, "remasking"), "guess", "settings[0].remasking must be one o"),
    (
        "beam",
        ("steps", 1, "candidates", 0, "token_id"),
        96,
        "step 1: must contain token ids from 0",
    ),
    ("beam", ("steps", 1, "candidates", 0, "fate"), "lost", "candidates[0].fate must be one of"),
    ("beam", ("settings", 0, 1, "early_stopping"), "soon", "settings[0].early_stopping must be"),
    ("beam", ("settings", 0, 1, "beams"), 1, "settings[0].beams is not known to this version"),
    ("speculative", ("steps", 1, "proposed", 0, "token_id"), 96, "step 1: must contain token ids"),
    ("speculative", ("steps", 1, "proposed", 0, "verdict"), "no", "proposed[0].verdict must be"),
    ("speculative", ("settings", 0, 1, "draft_length"), 0, "settings[0] are refused: draft_length"),
    ("speculative", ("settings", 0, 1, "draft"), {"name": "x"}, "settings[0].draft.source is mis"),
    ("guidance", ("guidance", "negative_prompt_ids"), [96], "guidance.negative_prompt_ids must"),
]


@pytest.mark.parametrize(
    ("strategy", "path", "value", "said"),
    [("", *case) for case in SAMPLED] + OTHERS,
    ids=lambda value: str(value)[:40] if isinstance(value, (str, tuple)) else "",
)
def test_value_out_of_range_is_refused_with_place(strategy, path, value, said):
    trace = made_by(strategy).trace() if strategy else EXAMPLE
    assert said in message_of(changed(path, value, trace))


def test_prompt_may_hold_input_only_token_ids():
    data = json.loads(changed(("model", "input_size"), VOCAB + 10))
    data["prompt_ids"][0] = VOCAB + 9
    assert Trace.from_json(json.dumps(data)).prompt_ids[0] == VOCAB + 9
    data["steps"][0]["token_id"] = VOCAB + 9
    assert "step 0: must contain token ids from 0" in message_of(json.dumps(data))


def test_rounding_slightly_out_of_range_is_accepted():
    data = json.loads(EXAMPLE.to_json())
    data["steps"][0] |= {"probability": 1.0000000000000002, "entropy_bits": -1e-16}
    data["steps"][0] |= {"logprob": 1e-12, "cache_bytes": 0, "u": 0}
    assert Trace.from_json(json.dumps(data)).steps[0].u == 0.0


# --- Arbitrary values -----------------------------------------------------------------------------

SEEDS = {
    name: json.loads(Trace.load(OLD_TRACES / f"{name}.json").to_json())
    for name in ("sampling-2", "guidance-2", "contrastive-2", "diffusion-2")
}
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
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
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_changed_file_loads_or_is_refused_briefly(data, name, kind):
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
        trace = Trace.from_json(json.dumps(changed_to))
    except TraceError as error:
        assert len(str(error)) <= 500, f"{len(str(error)):,} characters: {error!s:.600}"
        return
    # A file that loads is a whole trace: it can be used and saved again.
    assert Trace.from_json(trace.to_json()) == trace
    assert len(trace.to_frame()) >= len(trace.steps)
    assert isinstance(trace.text, str)
    assert all(0 <= each < trace.model["vocab_size"] for each in trace.token_ids)
