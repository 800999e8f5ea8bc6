"""Choosing tokens: forced tokens, changed settings, proposals, each step's random numbers."""

from functools import partial

import pytest

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Xtc
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, rows, sampling

TOKENS = 30
PROMPT = tiny_models.prompt(0)
native_and_parity = pytest.mark.parametrize("parity", [False, True], ids=["native", "parity"])


@native_and_parity
def test_forced_token_is_recorded_as_forced(llama, parity):
    decoder = Decoder(llama, PROMPT, SamplingSettings(top_k=1, seed=0, parity=parity))
    best = decoder.next_distribution().candidates(1)[0].token_id
    other = (best + 1) % tiny_models.VOCAB

    step = decoder.step(other)

    assert step.forced and step.token_id == other and step.u is None
    assert step.probability == 0, "top-k 1 had removed it"
    assert step.rank > 1 and step.logprob < 0 and step.logit == decoder.logits(0)[other]
    assert step.survivors == 1
    drawn = decoder.step()
    assert not drawn.forced and drawn.probability == 1
    ids = decoder.token_ids
    decoder.rewind(1)
    assert finished(decoder, 2).token_ids == ids
    for wrong in (-1, tiny_models.VOCAB, True):
        with pytest.raises(SettingError, match="token_id"):
            decoder.step(wrong)
    assert decoder.token_ids == ids


@native_and_parity
def test_forcing_the_drawn_token_changes_no_later_draw(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(6, parity=parity)), TOKENS)
    decoder = Decoder(llama, PROMPT, sampling(6, parity=parity))
    for i in range(TOKENS):
        step = decoder.step(lone.token_ids[i] if i in (0, 4, 5, 11) else None)
        assert step.token_id == lone.token_ids[i], "a forced token moved the random stream"
        assert step.forced == (i in (0, 4, 5, 11))
        assert step.probability == lone.steps[i].probability
    assert_same_run(decoder, lone.token_ids, rows(lone), "With four tokens forced")


@native_and_parity
def test_inspecting_the_next_distribution_changes_nothing(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(7, parity=parity)), TOKENS)
    decoder = Decoder(llama, PROMPT, sampling(7, parity=parity))
    for i in range(TOKENS):
        seen = [decoder.next_distribution() for _ in range(1 + i % 3)]
        assert len(decoder.steps) == i
        step = decoder.step()
        assert {next_one.probability(step.token_id) for next_one in seen} == {step.probability}
        if not parity:
            assert seen[0].draw(step.u).token_id == step.token_id
    assert_same_run(decoder, lone.token_ids, rows(lone), "Having looked before every step")
    decoder.rewind(9)
    decoder.next_distribution()
    assert_same_run(finished(decoder, TOKENS), lone.token_ids, rows(lone), "Rewound, looked")


def test_trace_records_the_settings_of_each_step(llama):
    first, second = sampling(1), sampling(1, temperature=1.4)
    decoder = finished(Decoder(llama, PROMPT, first), 5)
    decoder.settings = GREEDY
    decoder.settings = second  # before any step used the setting above, which leaves no trace
    finished(decoder, 12)
    decoder.settings = second

    trace = decoder.trace()
    assert trace.settings == ((0, first.to_dict()), (5, second.to_dict()))
    for step in decoder.steps:
        distribution = decoder.distribution(step.index)
        assert distribution.survivors == step.survivors
        assert distribution.probability(step.token_id) == step.probability, (
            f"step {step.index} is shown under other settings than it was drawn with"
        )
    decoder.rewind(3)
    assert decoder.settings == second, "rewinding does not turn the person's sliders"
    assert decoder.trace().settings == ((0, first.to_dict()), (3, second.to_dict()))
    decoder.rewind(0)
    assert decoder.trace().settings == ((0, second.to_dict()),)


def repeated(decoder: Decoder) -> Decoder:
    """A new decoder taken through the steps recorded in another decoder's trace."""
    trace = decoder.trace()
    settings = {first: SamplingSettings.from_dict(values) for first, values in trace.settings}
    twin = Decoder(decoder.model, trace.prompt_ids, settings[0])
    for step in trace.steps:
        twin.settings = settings.get(step.index, twin.settings)
        twin.step(step.token_id if step.forced else None)
    return twin


def test_trace_suffices_to_repeat_a_parity_run(llama):
    now = partial(sampling, parity=True)

    decoder = finished(Decoder(llama, PROMPT, now(1)), 8)
    decoder.settings = now(1, temperature=1.2)
    finished(decoder, 12)
    decoder.step(3)
    decoder.settings = now(2)
    finished(decoder, 20)
    decoder.settings = GREEDY
    finished(decoder, 24)
    decoder.settings = now(2)
    finished(decoder, TOKENS)
    twin = repeated(decoder)
    assert_same_run(twin, decoder.token_ids, rows(decoder), "Repeated from the trace")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (sampling(1), sampling(2)),
        (sampling(1, parity=True), sampling(2, parity=True)),
        (sampling(1), sampling(1, parity=True)),
    ],
    ids=["native", "parity", "parity later"],
)
def test_changed_settings_still_apply_after_a_rewind(llama, first, second):
    for keep in (0, 9, 10, 11):
        decoder = finished(Decoder(llama, PROMPT, first), 10)
        decoder.settings = second
        finished(decoder, 15)
        decoder.rewind(keep)
        finished(decoder, 20)
        assert SamplingSettings.from_dict(decoder.trace().settings[-1][1]) == second
        assert repeated(decoder).token_ids == decoder.token_ids, (
            "the trace names other settings than those that the tokens after the rewind came from"
        )


@native_and_parity
def test_only_a_seed_in_force_changes_the_draws(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), TOKENS)
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    other = decoder.fork()
    other.settings = sampling(2, parity=parity)
    finished(other, TOKENS)
    assert other.token_ids[:10] == lone.token_ids[:10] and other.token_ids != lone.token_ids
    decoder.settings = sampling(2, parity=parity)
    decoder.next_distribution()
    decoder.settings = sampling(1, parity=parity)
    finished(decoder, TOKENS)
    assert decoder.token_ids == lone.token_ids
    assert repeated(decoder).token_ids == decoder.token_ids


def test_top_k_above_the_vocabulary_is_refused(llama):
    too_many = SamplingSettings(top_k=tiny_models.VOCAB + 1)
    with pytest.raises(SettingError, match="top_k"):
        Decoder(llama, PROMPT, too_many)
    decoder = finished(Decoder(llama, PROMPT), 3)
    for ask in (decoder.next_distribution, lambda settings: decoder.distribution(0, settings)):
        with pytest.raises(SettingError, match="top_k"):
            ask(too_many)
    with pytest.raises(SettingError, match="top_k"):
        decoder.settings = too_many
    assert decoder.settings == SamplingSettings()


def test_missing_seed_is_chosen_and_recorded(llama):
    decoder = finished(Decoder(llama, PROMPT, SamplingSettings(seed=None)), 5)
    seed = decoder.settings.seed
    assert seed is not None
    decoder.settings = SamplingSettings(seed=None, temperature=0.5)
    assert decoder.settings.seed == seed, "a new temperature should not draw a new seed"
    again = finished(Decoder(llama, PROMPT, SamplingSettings(seed=seed)), 5)
    assert again.token_ids == decoder.token_ids


def test_steps_keep_random_numbers_after_a_seed_change(llama):
    xtc = Xtc(probability=0.5)
    decoder = Decoder(llama, PROMPT, SamplingSettings(seed=1, xtc=xtc))
    known, taken = [], []
    for index in range(3):
        known.append(decoder.uniform(index))
        taken.append(decoder.step())
    assert known == [step.u for step in taken]
    pending = decoder.uniform(3)
    decoder.settings = SamplingSettings(seed=2, xtc=xtc)
    assert [decoder.uniform(i) for i in range(3)] == known
    found = [decoder.context(i).uniform(Xtc.stream) for i in range(3)]
    assert found == [step.xtc_uniform for step in taken]
    assert decoder.uniform(3) != pending, "the next step is to be drawn with the new seed"
    assert decoder.uniform(3) == decoder.step().u
    decoder.settings = SamplingSettings(seed=1, xtc=xtc)
    decoder.rewind(3)
    assert decoder.uniform(3) == pending
    for index in (-1, 4, 1.0, True):
        with pytest.raises(SettingError, match="neither a step taken nor the next one"):
            decoder.uniform(index)


def test_context_is_unchanged_by_later_steps(llama):
    decoder = finished(Decoder(llama, PROMPT, sampling(3)), 8)
    context = decoder.context(8)
    ids = context.token_ids.tolist()
    decoder.rewind(2)
    decoder.settings = sampling(4)
    finished(decoder, 12)
    assert decoder.context(8).token_ids.tolist() != ids, "the same text proves nothing"
    assert context.token_ids.tolist() == ids


def test_step_includes_the_time_of_an_earlier_pass(llama):
    decoder = Decoder(llama, PROMPT, sampling(3))
    decoder.next_distribution()
    step = decoder.step()
    assert step.total_ms >= step.forward_ms + step.shape_ms + step.draw_ms
    assert step.is_prefill and step.forward_ms > 0
