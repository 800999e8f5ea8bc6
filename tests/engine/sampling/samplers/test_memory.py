"""A made-up stage with a state and a random stream, which no other file knows."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.batch import Batch, Row
from engine.errors import NoCandidatesError
from engine.model import LanguageModel
from engine.sampling import STAGES, SamplingSettings
from engine.sampling.samplers import BanStage, Context, TopK
from engine.sampling.samplers.info import Info, Number
from engine.sampling.survivors import Survivors
from engine.trace import Trace
from tests.engine import tiny_models
from tests.engine.runs import finished

PROMPT = tiny_models.prompt(0)
TOKENS = 40


@dataclass(frozen=True)
class Drawn:
    """The counts of drawn tokens: (id, times) by id."""

    times: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class AtMost(BanStage):
    """Ban a token once it was drawn n times, except if its random number postpones the ban."""

    n: int
    setting: ClassVar[str] = "at_most"
    off: ClassVar[int] = 0
    stream: ClassVar[int] = 77
    info: ClassVar[Info] = Info(
        label="At most",
        group="penalties",
        about="Made up.",
        formula="made up",
        idle="nothing happens",
        picture="edit",
        says={"": "It bans {banned:tokens}.", "none": "It rests."},
        numbers=(Number("n", "At most", (0, 9, 1), 2, "use 2", least=1, whole=True),),
    )

    def initial_state(self) -> Drawn:
        return Drawn()

    def after(self, state: Drawn, token_id: int, before: Survivors) -> Drawn:
        times = dict(state.times)
        times[token_id] = times.get(token_id, 0) + 1
        return Drawn(tuple(sorted(times.items())))

    def recorded(self, context: Context) -> dict[str, float]:
        return super().recorded(context) | {"known": len(self.state(context).times)}

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        acts = context.uniform(self.stream) >= 0.1
        times = self.state(context).times if acts else ()
        return np.array([token_id for token_id, n in times if n >= self.n], np.int64)


def settings(**changes: object) -> SamplingSettings:
    return SamplingSettings(chain=[AtMost(2), TopK(6)], seed=3).replace(**changes)


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with patch.dict(STAGES, {AtMost.setting: AtMost}):
        yield


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return tiny_models.shared("llama")


@pytest.fixture
def lone(model) -> Decoder:
    return finished(Decoder(model, PROMPT, settings()), TOKENS)


def expected_bans(decoder: Decoder, index: int, first: int = 0) -> list[int]:
    """Bans by definition, from only the steps' tokens."""
    stream = np.random.Generator(np.random.PCG64([3, AtMost.stream])).random(TOKENS)
    if stream[index] < 0.1:
        return []
    ids = decoder.token_ids[first:index]
    return sorted({token_id for token_id in ids if ids.count(token_id) >= 2})


def banned(decoder: Decoder, index: int) -> list[int]:
    result = decoder.distribution(index).stages[0]
    return np.flatnonzero(result.before.scores > result.after.scores).tolist()


def taken(decoder: Decoder) -> list[tuple]:
    return [(s.token_id, s.u, s.stage_states, s.probability) for s in decoder.steps]


def test_stage_sees_earlier_steps_and_its_random_number(lone):
    found = [banned(lone, index) for index in range(TOKENS)]
    assert found == [expected_bans(lone, index) for index in range(TOKENS)]
    assert max(map(len, found)) > 3 and found.count([]) > 3, "it hardly acted, or always did"
    for step in lone.steps:
        assert step.stage_state("at_most", "known") == len(set(lone.token_ids[: step.index]))
        uniform = lone.context(step.index).uniform(AtMost.stream)
        assert step.stage_state("at_most", "uniform") == uniform


def test_rewind_and_fork_keep_the_stages_memory(model, lone):
    decoder = finished(Decoder(model, PROMPT, settings()), 30)
    for length in (22, 5, 0):
        decoder.rewind(length)
        decoder.next_distribution(settings(seed=5, at_most=AtMost(1)))  # looking changes nothing
        assert taken(finished(decoder, 30)) == taken(lone)[:30]
    decoder.rewind(17)
    twin = decoder.fork()
    decoder.step(lone.token_ids[0])
    assert taken(finished(twin, TOKENS)) == taken(lone), "the other's step reached the fork"
    assert decoder.context(18).states != twin.context(18).states


def test_hypothetical_settings_see_the_steps_state(lone):
    once = lone.distribution(20, settings(at_most=AtMost(1))).stages[0]
    assert lone.context(20).uniform(AtMost.stream) >= 0.1
    gone = np.flatnonzero(once.before.scores > once.after.scores).tolist()
    assert gone == sorted(set(lone.token_ids[:20]))
    assert taken(lone) == taken(finished(lone, TOKENS)), "looking changed the record"


def test_stage_restarts_after_a_step_without_it(model):
    decoder = finished(Decoder(model, PROMPT, settings()), 12)
    decoder.settings = settings(at_most=0)
    finished(decoder, 13)
    decoder.settings = settings()
    finished(decoder, TOKENS)
    for index in range(13, TOKENS):
        assert banned(decoder, index) == expected_bans(decoder, index, first=13)


def test_a_batch_keeps_the_state_of_each_row(model, lone):
    rows = [Row(PROMPT, settings(seed=seed), TOKENS) for seed in (3, 4, 5)]
    batch = Batch(model, rows, max_rows=2)
    for _ in batch.run():
        pass
    assert batch.texts[0].token_ids == lone.token_ids
    for text, seed in zip(batch.texts[1:], (4, 5), strict=True):
        twin = finished(Decoder(model, PROMPT, settings(seed=seed)), TOKENS)
        assert text.token_ids == twin.token_ids


def test_trace_keeps_the_stages_state(lone, tmp_path):
    trace = lone.trace()
    loaded = Trace.load(trace.save(tmp_path / "run.json"))
    assert loaded == trace
    assert loaded.to_frame()["at_most_known"].tolist() == [
        step.stage_state("at_most", "known") for step in lone.steps
    ]
    assert SamplingSettings.from_dict(loaded.settings[0][1]) == settings()


def test_refused_step_leaves_the_stages_memory(model, lone):
    decoder = finished(Decoder(model, PROMPT, settings()), 9)
    decoder.settings = settings(banned=[[i] for i in range(tiny_models.VOCAB)])
    for refused in (decoder.step, decoder.next_distribution, decoder.step):
        with pytest.raises(NoCandidatesError, match="banned removed the last of them"):
            refused()
    decoder.settings = settings()
    assert taken(finished(decoder, TOKENS)) == taken(lone)


# --- Rules for every stage ------------------------------------------------------------------------


def test_random_streams_have_distinct_numbers_above_zero():
    streams = [kind.stream for kind in STAGES.values() if kind.stream is not None]
    assert len(set(streams)) == len(streams) and min(streams) >= 1


def test_states_are_frozen_plain_values(lone):
    usual = {name: STAGES[name]() for name in ("mirostat", "constraint")} | {"at_most": AtMost(2)}
    remembering = {name for name, kind in STAGES.items() if kind.has_memory()}
    assert remembering == usual.keys(), "give a usual value of the new stage with a memory"
    row = lone.distribution(0).stages[0].before
    for stage in usual.values():
        before = stage.initial_state()
        copy = pickle.dumps(before)
        state = stage.after(before, 5, row)
        assert pickle.dumps(before) == copy and state != before, "a state was changed in place"
        assert dataclasses.is_dataclass(state) and hash(state) is not None
        assert stage.state(Context(np.empty(0, np.int64), states={stage.name: state})) == state
