"""Decoders over a back end that lists only some tokens, against the same model's whole rows."""

import numpy as np
import pytest

from engine.decoding.batch import Batch, Row
from engine.decoding.beam.search import BeamSearch
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.decoder import Decoder
from engine.errors import CapabilityError, SettingError
from engine.model import Scores
from engine.sampling import SamplingSettings, shape
from engine.sampling.samplers import Temperature, TopK, TopP, TypicalP
from engine.study import token_logprobs
from tests import bundled as models
from tests.engine.backend.top_n import TopN, top

PROMPT = "Once upon a time"
LISTED = 50


@pytest.fixture(scope="module")
def bundled():
    return models.bundled()


@pytest.fixture(scope="module")
def partial(bundled):
    return TopN(bundled, LISTED)


def text_of(model, settings):
    decoder = Decoder(model, PROMPT, settings)
    list(decoder.run(24))
    return decoder


SETTINGS = [
    SamplingSettings(temperature=0),
    SamplingSettings(temperature=0.6, top_k=20, top_p=0.9, seed=2),
    SamplingSettings(temperature=1.7, top_k=40, min_p=0.05, seed=3),
    SamplingSettings(chain=[Temperature(1.3), TopK(30), TypicalP(0.8)], seed=4),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_listed_tokens_give_same_texts_as_full_rows(bundled, partial, settings):
    whole, listed = text_of(bundled, settings), text_of(partial, settings)
    assert listed.token_ids == whole.token_ids
    for one, other in zip(listed.steps, whole.steps, strict=True):
        assert one.survivors == other.survivors
        assert one.rank == other.rank
        assert one.probability == pytest.approx(other.probability, abs=1e-5)
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert (one.logit, one.cache_bytes, one.cache_bytes_held) == (None, None, None)


def test_missing_top_k_is_added(partial):
    decoder = Decoder(partial, PROMPT, SamplingSettings(temperature=0.8, top_p=0.95, seed=0))
    assert decoder.settings.chain == (Temperature(0.8), TopK(LISTED), TopP(0.95))
    with pytest.raises(SettingError, match="use 1 to 50"):
        decoder.settings = SamplingSettings(top_p=0.95)


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        (SamplingSettings(top_k=51), "top_k must be at most the 50"),
        (SamplingSettings(chain=[TopP(0.9), TopK(20)]), "put it after top-k"),
        (SamplingSettings(presence_penalty=1.0, top_k=20), "put it after top-k"),
    ],
    ids=repr,
)
def test_settings_needing_unlisted_tokens_are_refused(partial, settings, refusal):
    with pytest.raises(SettingError, match=refusal):
        Decoder(partial, PROMPT, settings)


@pytest.mark.parametrize(
    "begin",
    [
        lambda model: Decoder(model, PROMPT, SamplingSettings(repetition_penalty=1.2)),
        lambda model: Decoder(model, PROMPT, SamplingSettings(parity=True)),
        lambda model: Decoder(model, PROMPT, guidance_scale=1.5),
        lambda model: ContrastiveSearch(model, PROMPT),
        lambda model: BeamSearch(model, PROMPT),
        lambda model: token_logprobs(model, PROMPT, [5]),
    ],
    ids=["repetition penalty", "parity", "guidance", "contrastive", "beam", "likelihood"],
)
def test_unsupported_features_raise_capability_error(partial, begin):
    with pytest.raises(CapabilityError):
        begin(partial)


def test_only_listed_tokens_can_be_forced(bundled, partial):
    decoder = Decoder(partial, PROMPT)
    decoder.next_distribution()
    ranked = np.argsort(-Decoder(bundled, PROMPT).next_distribution().logits, kind="stable")
    with pytest.raises(SettingError, match="not among the 50 tokens"):
        decoder.step(token_id=int(ranked[LISTED]))
    step = decoder.step(token_id=int(ranked[LISTED - 1]))
    assert (step.rank, step.forced) == (LISTED, True)
    decoder.next_distribution()
    decoder.fetch_row(1)
    rarest = int(decoder.next_distribution().raw.scores.argmin())
    assert decoder.step(token_id=rarest).probability == 0


def test_rewinds_and_forks_repeat_the_same_text(partial):
    settings = SamplingSettings(top_k=50, seed=5)
    decoder = text_of(partial, settings)
    wanted, rows = decoder.token_ids, [decoder.logits(i) for i in range(24)]
    decoder.rewind(7)
    twin = decoder.fork()
    for each in (decoder, twin):
        list(each.run(24))
        assert each.token_ids == wanted
        assert all(np.array_equal(each.logits(i), row) for i, row in enumerate(rows))


def test_batch_matches_single_decoders(partial):
    rows = [Row(PROMPT, SamplingSettings(top_k=20, seed=seed), 24) for seed in range(2)]
    batch = Batch(partial, rows)
    list(batch.run())
    alone = [text_of(partial, row.settings).token_ids for row in rows]
    assert [text.token_ids for text in batch.texts] == alone
    assert len(batch.notices) == 1 and partial.name in batch.notices[0]


def test_unlisted_mass_counts_at_temperature_1(bundled):
    logits = Decoder(bundled, PROMPT).next_distribution().logits
    whole, listed = shape(logits, SamplingSettings()), top(logits, LISTED)
    row = shape(listed.row(), SamplingSettings())
    best = int(np.argmax(logits))
    assert 0 < listed.rest < 1
    assert row.raw.logprob(best) == pytest.approx(whole.raw.logprob(best), abs=1e-5)
    kept = shape(listed.row(), SamplingSettings(top_k=LISTED))
    assert kept.stages[0].mass_removed == pytest.approx(listed.rest, abs=1e-5)
    assert row.raw.entropy_bits >= whole.raw.entropy_bits  # the rest is spread evenly


def test_fetched_row_completes_a_step_and_changes_no_figure(bundled, partial):
    settings = SamplingSettings(temperature=1.3, top_k=40, seed=3)
    decoder = Decoder(partial, PROMPT, settings)
    list(decoder.run(4))
    steps, before, listed = list(decoder.steps), decoder.logits(2), decoder.listed(2)
    decoder.fetch_row(2)
    row, full = decoder.logits(2), Decoder(bundled, decoder.prompt_ids + decoder.token_ids[:2])
    assert (decoder.listed(2), decoder.listed(1).ids.size) == (None, LISTED)
    np.testing.assert_array_equal(row[listed.ids], before[listed.ids])
    logits = full.next_distribution().raw.scores.astype(np.float64)
    expected = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    np.testing.assert_allclose(row, expected, atol=0.1)  # bfloat16
    decoder.fetch_row(4)  # the next token's
    assert decoder.listed(4) is None
    assert decoder.steps == steps
    later = [step.token_id for step in decoder.run(2)]
    decoder.rewind(2)
    assert [step.token_id for step in decoder.run(4)] == [*(s.token_id for s in steps[2:]), *later]
    with pytest.raises(SettingError, match="not a recorded step"):
        decoder.fetch_row(9)


def test_completed_row_ranks_no_other_token_above_a_listed_one():
    listed = Scores(np.array([3, 1]), np.log(np.float32([0.5, 0.2])), 5, 0.3)
    noisy = top(np.log([0.21, 0.19, 0.05, 0.5, 0.05]), 5)
    row = listed.completed(noisy).row()
    np.testing.assert_array_equal(row[[3, 1]], listed.logprobs)
    assert row[0] == listed.logprobs[1] and listed.completed(noisy).rest == 0
