"""Records of texts: their content, and the text restored from them."""

import json
import random
import threading

import pytest

from engine.errors import DecodingError
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Xtc
from engine.values import plain
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.history import MOST_EARLIER
from ui.step.record import TextRecord, again, replay, text_record
from ui.step.session import Session
from ui.visits.records import BrokenRecord

KINDS = ("step", "back", "rewind", "reroll", "force", "branch", "inspect", "settings", "run")


def record_of(session: Session) -> dict:
    """Return the record as it is read back from a file."""
    return json.loads(json.dumps(text_record(session, session.order)))


def same(text, other) -> bool:
    """Return whether two texts have the same steps, except for their times."""
    times = ("forward_ms", "shape_ms", "draw_ms", "total_ms", "negative_forward_ms")
    runs = ("is_prefill", "reused", "passes", "cache_bytes_held", "cache_positions", "stop_reason")
    for one, two in zip(text.steps, other.steps, strict=True):
        here, there = plain(one), plain(two)
        for name in (*times, *runs, "negative_cache_bytes", "cache_bytes"):
            here.pop(name, None), there.pop(name, None)
        if here != there:
            return False
    return True


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3))])
def test_random_actions_are_restored_from_the_record(bundled, seed):
    generator = random.Random(seed)
    visitor = Visitor(Session(bundled, PROMPT, SamplingSettings()))
    session = visitor.session
    for _ in range(40):
        kind = generator.choice(KINDS)
        visitor.settings = SamplingSettings(
            temperature=generator.choice([0, 0.7, 1.4]),
            top_p=generator.choice([1, 0.8]),
            repetition_penalty=generator.choice([1, 1.2]),
            xtc=generator.choice([Xtc(0.05, 0.0), Xtc(0.05, 0.5)]),
            seed=generator.randrange(5),
        )
        fields = {"index": generator.randrange(max(1, session.length))}
        if kind == "force":
            fields["token_id"] = generator.randrange(300, 400)
        elif kind == "branch":
            fields = {"branch": generator.choice(list(session.branches))}
        elif kind == "run":
            fields = {"playing": True, "max_tokens": session.length + 2}
        visitor.do(kind, **fields)
    record = TextRecord.parse(record_of(session))
    replayed = replay(record, bundled)
    assert record.current == session.current
    assert set(replayed.branches) == set(session.branches)
    for number, branch in session.branches.items():
        mine = replayed.branches[number]
        assert same(mine.decoder, branch.decoder)
        assert mine.decoder.settings_by_step == branch.decoder.settings_by_step
        assert (mine.parent, mine.departs_at) == (branch.parent, branch.departs_at)
    restored = Session.restored(record, {"text": record_of(session)}, bundled)
    visitor.settings = session.settings
    visitor.steps(3)
    twin = Visitor(restored)
    twin.settings = session.settings
    twin.steps(3)
    assert same(restored.decoder, session.decoder), "it goes on as it would have"
    assert restored.order == session.order and restored.run == session.run


def test_branches_share_passes_of_their_common_tokens(visitor, bundled, monkeypatch):
    visitor.steps(8)
    for index in (7, 5, 6):
        visitor.do("branch", branch=1)
        visitor.do("force", index=index, token_id=300 + index)
    record = TextRecord.parse(record_of(visitor.session))
    told = []
    replay(record, bundled, lambda *said: told.append(said))
    steps = 7 + 1 + 1 + 2
    assert {total for _, _, total in told} == {steps}, "one for each token that no other has"
    assert list(dict.fromkeys(done for _, done, _ in told)) == list(range(steps + 1))


@pytest.mark.parametrize(
    ("fact", "value", "reason"),
    [
        ("dtype", "float64", "the model computed in float64 then and in"),
        ("parameters", 1, "the model has different weights now"),
        ("torch", "0.1", "PyTorch was 0.1 then and is"),
    ],
)
def test_replay_explains_differences_and_keeps_the_record(visitor, bundled, fact, value, reason):
    visitor.steps(3)
    data = record_of(visitor.session)
    trace = data["branches"][0]["trace"]
    trace["steps"]["tokens"][1] += 1
    trace["model"][fact] = value
    again = Session.restored(TextRecord.parse(data), {"text": data}, bundled)
    assert f"from token 2 on it differs, because {reason}" in again.said
    assert again.length == 3, "to the end"
    assert [text.record for text in again.earlier] == [data]


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
def test_corrupted_record_is_replayed_or_refused(visitor, bundled, seed):
    visitor.steps(2)
    visitor.do("force", index=0, token_id=300)
    generator = random.Random(seed)
    values = [None, True, -1, 10**30, 0.5, "x", "x" * 10**5, [], [[]], {}, {"a": 1}, [[0, 3]]]
    good = record_of(visitor.session)
    refused = 0
    for _ in range(150):
        data = json.loads(json.dumps(good))
        place = data
        while True:
            key = generator.choice(list(place) if isinstance(place, dict) else range(len(place)))
            inner = place[key]
            if isinstance(inner, (dict, list)) and inner and generator.random() < 0.7:
                place = inner
                continue
            break
        place[key] = generator.choice(values)
        try:
            record = TextRecord.parse(data)
        except BrokenRecord as error:
            assert str(error).endswith(".")
            refused += 1
            continue
        try:
            replay(record, bundled)
        except DecodingError as error:
            assert str(error).endswith(".")
    assert refused > 50


# --- earlier texts --------------------------------------------------------------------------------


def test_only_the_last_texts_are_kept(visitor):
    session = visitor.session
    for number in range(MOST_EARLIER + 3):
        visitor.do("start", prompt=f"Text {number}")
        visitor.steps(1)
    prompts = [text.record["beginning"]["prompt"] for text in session.earlier]
    assert prompts == [f"Text {number}" for number in range(2, MOST_EARLIER + 2)]


def test_oldest_text_is_reopened_though_the_list_is_full(visitor):
    session = visitor.session
    for number in range(MOST_EARLIER + 1):
        visitor.do("start", prompt=f"Text {number}")
        visitor.steps(1)
    assert len(session.earlier) == MOST_EARLIER
    visitor.do("reopen", text_number=next(iter(session.earlier)).number)
    assert (session.error, session.prompt) == ("", "Text 0")
    assert len(session.earlier) == MOST_EARLIER


def test_untouched_text_is_not_kept(visitor):
    visitor.do("start", prompt="Once upon a")  # an example's prompt
    assert list(visitor.session.earlier) == []
    visitor.do("start", prompt="A prompt of one's own")
    visitor.do("start", prompt="The end")
    assert len(visitor.session.earlier) == 1


def test_reopened_text_swaps_with_the_current_one(visitor):
    session = visitor.session
    before = list(visitor.steps(4))
    visitor.do("start", prompt="Another text")
    visitor.steps(2)
    number = next(iter(session.earlier)).number
    visitor.do("reopen", text_number=number)
    assert session.decoder.token_ids == before and session.prompt == PROMPT
    assert session.said == again(4)
    (other,) = session.earlier
    assert other.lengths == [2]
    visitor.do("reopen", text_number=number)
    assert "earlier text is no longer here" in session.error
    assert session.decoder.token_ids == before


def test_text_stays_listed_if_its_model_is_missing(visitor, model):
    session = visitor.session
    visitor.steps(2)
    session.load(model)
    number = next(iter(session.earlier)).number
    visitor.settings = SamplingSettings()
    visitor.do("reopen", text_number=number)
    assert session.error and session.model is model
    assert [text.number for text in session.earlier] == [number]


def test_record_restores_text_limits_and_settings(visitor, bundled):
    visitor.steps(2)
    limits = {"max_tokens": 9, "stop_strings": ("\n",)}
    visitor.do("start", prompt="Another text", **limits)
    visitor.do("step", **limits)
    session = visitor.session
    version = session.version
    settings = SamplingSettings(top_k=4)
    visitor.do("settings", settings=settings, order=("top_k", "min_p"), **limits)
    assert session.version != version
    record = json.loads(json.dumps(session.record()))
    restored = Session.restored(TextRecord.parse(record["text"]), record, bundled)
    assert restored.prompt == "Another text"
    assert (restored.max_tokens, restored.decoder.stop_strings) == (9, ("\n",))
    assert (restored.settings, restored.order) == (SamplingSettings(top_k=4), ("top_k", "min_p"))
    assert [text.lengths for text in restored.earlier] == [[2]]
    assert restored.acknowledged.covers("browser", visitor.number)


def test_record_is_unavailable_during_an_event(visitor):
    session, found = visitor.session, []
    with session.lock:
        thread = threading.Thread(target=lambda: found.append(session.record()))
        thread.start()
        thread.join()
    assert found == [None] and session.record() is not None
