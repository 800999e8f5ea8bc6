"""Choosing tokens: forced tokens, changed settings, proposals, each step's random numbers."""

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


@native_and_parity
def test_trace_records_the_settings_of_each_step(llama, parity):
    first, second = sampling(1, parity=parity), sampling(1, parity=parity, temperature=1.4)
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


@native_and_parity
def test_trace_suffices_to_repeat_the_run(llama, parity):
    def now(seed: int, **changes: object) -> SamplingSettings:
        return sampling(seed, parity=parity, **changes)

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


@native_and_parity
@pytest.mark.parametrize("keep", [0, 5, 9, 10, 11])
def test_changed_seed_still_applies_after_a_rewind(llama, parity, keep):
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    decoder.settings = sampling(2, parity=parity)
    finished(decoder, 20)

    decoder.rewind(keep)
    finished(decoder, TOKENS)

    assert decoder.trace().settings[-1][1]["seed"] == 2
    twin = repeated(decoder)
    assert twin.token_ids == decoder.token_ids, (
        "the trace names seed 2, but the tokens after the rewind came from another stream"
    )


@pytest.mark.parametrize("keep", [0, 5, 10, 15])
def test_parity_enabled_before_a_rewind_repeats_exactly(llama, keep):
    decoder = finished(Decoder(llama, PROMPT, sampling(1)), 10)
    decoder.settings = sampling(1, parity=True)
    finished(decoder, 20)
    decoder.rewind(keep)
    finished(decoder, TOKENS)
    assert repeated(decoder).token_ids == decoder.token_ids


@native_and_parity
def test_seed_changed_and_restored_changes_no_draw(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), TOKENS)
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    decoder.settings = sampling(2, parity=parity)
    decoder.next_distribution()
    decoder.settings = sampling(1, parity=parity)
    finished(decoder, TOKENS)
    assert decoder.token_ids == lone.token_ids
    assert repeated(decoder).token_ids == decoder.token_ids


@native_and_parity
def test_fork_diverges_only_with_another_seed(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), TOKENS)
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    same, other = decoder.fork(), decoder.fork()
    other.settings = sampling(2, parity=parity)
    finished(other, TOKENS)
    assert other.token_ids[:10] == lone.token_ids[:10] and other.token_ids != lone.token_ids
    assert finished(same, TOKENS).token_ids == lone.token_ids
    assert finished(decoder, TOKENS).token_ids == lone.token_ids


def test_top_k_above_the_vocabulary_is_refused(llama):
    with pytest.raises(SettingError, match="top_k"):
        Decoder(llama, PROMPT, SamplingSettings(top_k=tiny_models.VOCAB + 1))
    decoder = finished(Decoder(llama, PROMPT), 3)
    with pytest.raises(SettingError, match="top_k"):
        decoder.settings = SamplingSettings(top_k=tiny_models.VOCAB + 1)
    assert decoder.settings == SamplingSettings()


def test_missing_seed_is_chosen_and_recorded(llama):
    decoder = finished(Decoder(llama, PROMPT, SamplingSettings(seed=None)), 5)
    seed = decoder.settings.seed
    assert seed is not None
    decoder.settings = SamplingSettings(seed=None, temperature=0.5)
    assert decoder.settings.seed == seed, "a new temperature should not draw a new seed"
    again = finished(Decoder(llama, PROMPT, SamplingSettings(seed=seed)), 5)
    assert again.token_ids == decoder.token_ids


@pytest.mark.parametrize("wrong", [-1, 6, True])
def test_rewind_to_an_invalid_length_is_refused(llama, wrong):
    decoder = finished(Decoder(llama, PROMPT), 5)
    with pytest.raises(SettingError, match="use 0 to 5"):
        decoder.rewind(wrong)
    assert len(decoder.steps) == 5


def test_steps_keep_random_numbers_after_a_seed_change(llama):
    xtc = Xtc(probability=0.5)
    decoder = Decoder(llama, PROMPT, SamplingSettings(seed=1, xtc=xtc))
    taken = [decoder.step() for _ in range(3)]
    pending = decoder.uniform(3)
    decoder.settings = SamplingSettings(seed=2, xtc=xtc)
    assert [decoder.uniform(i) for i in range(3)] == [step.u for step in taken]
    found = [decoder.context(i).uniform(Xtc.stream) for i in range(3)]
    assert found == [step.xtc_uniform for step in taken]
    assert decoder.uniform(3) != pending, "the next step is to be drawn with the new seed"
    assert decoder.uniform(3) == decoder.step().u
    decoder.settings = SamplingSettings(seed=1, xtc=xtc)
    decoder.rewind(3)
    assert decoder.uniform(3) == pending


def test_hypothetical_settings_are_checked_against_the_vocabulary(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    decoder.step()
    too_many = SamplingSettings(top_k=tiny_models.VOCAB + 1)
    with pytest.raises(SettingError, match="top_k is above the vocabulary"):
        decoder.next_distribution(too_many)
    with pytest.raises(SettingError, match="top_k is above the vocabulary"):
        decoder.distribution(0, too_many)


def test_uniform_number_is_known_before_its_step(llama):
    decoder = Decoder(llama, PROMPT, sampling(3))
    for index in range(4):
        u = decoder.uniform(index)
        assert decoder.step().u == u
    assert [decoder.uniform(index) for index in range(4)] == [step.u for step in decoder.steps]
    for index in (-1, 5, 1.0, True):
        with pytest.raises(SettingError, match="neither taken nor next"):
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
