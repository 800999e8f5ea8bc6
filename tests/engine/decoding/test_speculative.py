"""Speculative decoding: the target's distribution, greedy decoding, every figure of a round."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from engine.decoder import Decoder
from engine.decoding.speculative import SpeculativeDecoder
from engine.decoding.speculative.block_reader import MOST_BEHIND
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import Drawn, SamplingSettings
from engine.sampling.acceptance import Overlap
from engine.sampling.samplers import Mirostat
from engine.sampling.speculation import SpeculativeSettings
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, generate

PROMPT = tiny_models.prompt(2)
FEW = 6  # size of the vocabulary whose texts are counted
SAMPLES = 300
FALSE_ALARM = 1e-4
ROUGH = SamplingSettings(temperature=1.3, top_p=0.95, repetition_penalty=1.2, seed=0)


@cache
def few(seed: int) -> LanguageModel:
    hf = tiny_models.build("llama", seed, vocab_size=FEW, num_hidden_layers=1)
    return LanguageModel(hf, name=f"few {seed}")


def decoder_of(architecture="llama", draft=None, prompt=PROMPT, **changes) -> SpeculativeDecoder:
    """A decoder whose `draft` is an architecture, built with seed 1, or None for prompt lookup."""
    target = tiny_models.shared(architecture)
    other = None if draft is None else tiny_models.shared(draft, 1)
    return SpeculativeDecoder(target, prompt, other, SpeculativeSettings(**changes))


def run(decoder: SpeculativeDecoder, tokens: int) -> SpeculativeDecoder:
    decoder.settings = decoder.settings.replace(max_new_tokens=tokens)
    list(decoder.run())
    return decoder


# --- the distribution -----------------------------------------------------------------------------


def exact(settings: SamplingSettings, prompt: list[int]) -> np.ndarray:
    """(FEW, FEW) probabilities of the first two tokens under the target alone."""
    decoder = Decoder(few(0), prompt, settings)
    first = decoder.next_distribution().probs
    joint = np.zeros((FEW, FEW))
    for token_id in np.flatnonzero(first):
        decoder.rewind(0)
        decoder.step(int(token_id))
        joint[token_id] = first[token_id] * decoder.next_distribution().probs
    return joint


def p_value(draft: LanguageModel | None, prompt: list[int]) -> float:
    """p-value of a chi-square test: the first two tokens of seeds 0 to 299 against the target."""
    settings = SpeculativeSettings(ROUGH, draft_length=2, max_new_tokens=2)
    decoder = SpeculativeDecoder(few(0), prompt, draft, settings)
    counts = np.zeros((FEW, FEW))
    for seed in range(SAMPLES):
        decoder.rewind(0)
        decoder.settings = settings.replace(sampling=ROUGH.replace(seed=seed))
        list(decoder.run())
        counts[tuple(decoder.token_ids)] += 1
    expected = exact(ROUGH, prompt) * SAMPLES
    assert not counts[expected == 0].any(), "a token that the chain removes was written"
    rare = expected < 5
    observed, wanted = counts[~rare], expected[~rare]
    if expected[rare].sum() > 0:
        observed = np.append(observed, counts[rare].sum())
        wanted = np.append(wanted, expected[rare].sum())
    return stats.chisquare(observed, wanted).pvalue


REPEATING = [1, 2, 3, 1, 2, 3, 1, 2]


@pytest.mark.parametrize("way", ["draft", "lookup"])
def test_texts_follow_the_targets_distribution(way):
    draft = few(1) if way == "draft" else None
    # 300 fixed seeds; with others, one run in 10,000 would fail by chance.
    assert p_value(draft, REPEATING) > FALSE_ALARM


@pytest.mark.long  # it tests the test above
def test_wrong_residual_fails_the_distribution_test(monkeypatch):
    def from_the_target(self: Overlap, u: float) -> Drawn:
        return Overlap(self.target, np.zeros_like(self.target)).draw_right(u)

    monkeypatch.setattr(Overlap, "draw_right", Overlap.draw, raising=False)
    monkeypatch.setattr(Overlap, "draw", from_the_target)
    assert p_value(few(1), REPEATING) < FALSE_ALARM


# --- greedy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "draft"),
    [
        ("llama", "gpt2"),
        ("gemma3", "gemma3"),  # windows of 16 positions, which cannot be cropped once full
        ("mistral", None),
        ("llama", "mamba"),  # a recurrent draft
        pytest.param("gpt2", "gpt2", marks=pytest.mark.long),
        pytest.param("bloom", None, marks=pytest.mark.long),
    ],
)
def test_greedy_speculation_equals_generate_in_float32(architecture, draft):
    decoder = run(decoder_of(architecture, draft, sampling=GREEDY), 28)
    wanted, _ = generate(tiny_models.shared(architecture), PROMPT, 28)
    assert decoder.token_ids == wanted
    assert all(token.u is None for step in decoder.steps for token in step.proposed)


def test_a_draft_like_the_target_is_always_accepted():
    target = tiny_models.shared("llama")
    sampling = SamplingSettings(temperature=0.9, seed=4)
    settings = SpeculativeSettings(sampling, draft_length=3, max_new_tokens=24)
    decoder = SpeculativeDecoder(target, PROMPT, target, settings)
    steps = list(decoder.run())
    assert [step.accepted for step in steps] == [3] * 6
    assert all(
        token.ratio == pytest.approx(1, rel=1e-3) for step in steps for token in step.proposed
    )
    assert {step.drawn.kind for step in steps} == {"bonus"}


# --- the figures of a round -----------------------------------------------------------------------


def test_probabilities_match_a_lone_decoder():
    """Check that penalties, a state (mirostat) and cuts see the same text in rounds and steps."""
    sampling = SamplingSettings(
        repetition_penalty=1.2, temperature=1.1, mirostat=Mirostat(tau=4.0), seed=9
    )
    decoder = run(decoder_of(draft="qwen3", sampling=sampling), 30)
    lone = Decoder(tiny_models.shared("llama"), PROMPT, sampling)
    for token_id in decoder.token_ids:
        lone.step(token_id)
    seen = 0
    for step in decoder.steps:
        for place, token in enumerate(step.proposed[: step.looked_at]):
            alone = lone.distribution(step.start + place).probability(token.token_id)
            assert token.target_probability == pytest.approx(alone, rel=1e-3, abs=1e-6)
            seen += 1
        if step.drawn is not None:
            at = step.start + len(step.token_ids) - 1
            alone = lone.distribution(at).probability(step.drawn.token_id)
            assert step.drawn.target_probability == pytest.approx(alone, rel=1e-3, abs=1e-6)
    assert seen > 20


@pytest.mark.parametrize(("architecture", "draft"), [("llama", "llama"), ("gemma2", "llama")])
def test_released_distributions_come_back_unchanged(architecture, draft):
    sampling = SamplingSettings(temperature=1.2, top_k=30, seed=1)
    decoder = run(decoder_of(architecture, draft, sampling=sampling), 20)
    assert decoder.release_rows()
    rejected = 0
    for step in decoder.steps:
        for place, token in enumerate(step.proposed):
            found = decoder.distribution(step.index, place)
            assert found.token == token
            assert found.draft.probability(token.token_id) == token.draft_probability
            assert found.overlap.draft.sum() == pytest.approx(1)
            if token.target_probability is not None:
                assert found.target.probability(token.token_id) == token.target_probability
            if token.verdict == "rejected":
                drawn = found.overlap.draw(step.drawn.u)
                assert drawn == (step.drawn.token_id, step.drawn.probability)
                rejected += 1
        last = decoder.distribution(step.index, len(step.proposed))
        assert last.overlap is None and last.draft is None
    assert rejected > 2
    for wrong in (-1, 5, 1.5, None):
        with pytest.raises(SettingError, match="position is not a position of this round"):
            decoder.distribution(0, wrong)


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])  # gemma3's windows cannot be cropped
def test_lost_caches_are_rebuilt_to_the_same_bits(architecture):
    """Check that a lost or rewound cache is read again in its original blocks."""

    def decoder() -> SpeculativeDecoder:
        return decoder_of(architecture, architecture, sampling=SamplingSettings(seed=6))

    lone, other = decoder(), decoder()
    list(lone.run(26))
    list(other.run(21))
    assert other.release_cache()
    list(other.run(25))
    other.rewind(17)
    list(other.run(26))
    assert (
        other.token_ids == lone.token_ids and lone.steps[-1].target_positions > tiny_models.WINDOW
    )
    assert [step.proposed for step in other.steps] == [step.proposed for step in lone.steps]
    assert [step.drawn for step in other.steps] == [step.drawn for step in lone.steps]
    most = MOST_BEHIND + 1 + lone.settings.draft_length
    assert all(sum(step.target_passes) <= most + 16 for step in lone.steps), "it reads ever more"


def test_rounds_count_passes_times_and_caches():
    decoder = run(decoder_of(draft="llama", draft_length=3), 12)
    first, *others = decoder.steps
    assert first.is_prefill and not any(step.is_prefill for step in others)
    assert first.target_passes == (len(PROMPT) - 1, 4) and first.draft_passes[0] == len(PROMPT) - 1
    for step in others:
        assert step.target_passes == (len(step.proposed) + 1,)
        assert len(step.draft_passes) == len(step.proposed)
        assert step.target_cache_bytes > 0 and step.draft_cache_bytes > 0
        parts = step.prefill_ms + step.draft_ms + step.target_ms + step.shape_ms + step.other_ms
        assert parts == pytest.approx(step.total_ms)
    total = len(PROMPT) + len(decoder.token_ids)
    assert decoder.steps[-1].target_positions == total - 1
    lookup = run(decoder_of(), 4)
    assert {step.draft_cache_bytes for step in lookup.steps} == {0}


def test_each_random_number_belongs_to_one_position():
    decoder = run(decoder_of(draft="llama", sampling=SamplingSettings(seed=3)), 24)
    by_place: dict[tuple[int, str], set[float]] = {}
    for step in decoder.steps:
        for place, token in enumerate(step.proposed):
            key = step.start + place
            by_place.setdefault((key, "draft"), set()).add(token.draft_u)
            if token.u is not None:
                by_place.setdefault((key, "accept"), set()).add(token.u)
        at = step.start + len(step.token_ids) - 1
        by_place.setdefault((at, "draw"), set()).add(step.drawn.u)
    assert all(len(numbers) == 1 for numbers in by_place.values())
    numbers = [number for found in by_place.values() for number in found]
    assert len(set(numbers)) == len(numbers), "one number serves two purposes"


# --- forced acceptance ----------------------------------------------------------------------------


def test_forced_acceptance_marks_the_text_invalid():
    decoder = decoder_of(draft="llama", forced_acceptance=1.0, draft_length=2)
    step = decoder.step()
    assert step.accepted == 2 and step.text_invalid and step.forced_acceptance == 1
    assert decoder.trace().settings[0][1]["text_invalid"] is True
    decoder.settings = decoder.settings.replace(forced_acceptance=0.0)
    step = decoder.step()
    assert step.accepted == 0 and step.drawn.kind == "resampled"
    assert step.drawn.probability == step.drawn.target_probability
    decoder.settings = decoder.settings.replace(forced_acceptance=None)
    assert not decoder.step().text_invalid


def test_forced_acceptance_keeps_its_share():
    sampling = SamplingSettings(temperature=0, seed=5)
    decoder = decoder_of(draft="llama", sampling=sampling, forced_acceptance=0.7, draft_length=8)
    run(decoder, 100)
    looked_at = sum(step.looked_at for step in decoder.steps)
    accepted = sum(step.accepted for step in decoder.steps)
    # Seed 5; with p = 0.7 and about 90 trials, the share leaves 0.5 to 0.9 once in 20,000.
    assert looked_at > 80 and 0.5 < accepted / looked_at < 0.9
