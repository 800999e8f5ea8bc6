"""The evaluation's measures: recitation, repetition, draft acceptance, filling by steps."""

import itertools
import math

import numpy as np
import pytest
import torch

from models.training.evaluation import acceptance, diffusion, recitation
from models.training.evaluation.repetition import ends_in_loop, repeated_share

# Recitation

TRAINED = [
    np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 21, 22, 23, 24, 25, 26, 27, 28]),
    np.array([0, 31, 32, 33, 34]),
]


def test_recitation_counts_n_grams_and_longest_run():
    index = recitation.NGramIndex(TRAINED)
    texts = [
        (2, 3, 4, 5, 6, 7, 8, 9, 10, 21),  # three 8-grams, the first two recited, nine in a row
        (21, 22, 23, 24, 99, 25, 26, 27, 28),  # two, none recited
        (31, 32, 33),  # too short for one
    ]
    found = recitation.recitation(index, texts)
    assert (found.grams, found.recited, found.share) == (5, 2, pytest.approx(0.4))
    assert found.longest == 9 and found.longest_run == (2, 3, 4, 5, 6, 7, 8, 9, 10)


def test_n_grams_do_not_cross_shards():
    index = recitation.NGramIndex(TRAINED)
    assert not index.occurring((27, 28, 31), 3).any()
    assert index.occurring((27, 28), 2).all()
    assert recitation.longest_run(index, [(50, 51), ()]) == (), "unknown tokens"


def test_index_agrees_with_a_full_search():
    draws = np.random.default_rng(1)
    shards = [draws.integers(3, size=length) for length in (400, 90, 300)]
    text = tuple(draws.integers(3, size=60).tolist())
    index = recitation.NGramIndex(shards)
    for n in (1, 8):
        trained = {
            tuple(shard[start : start + n].tolist())
            for shard in shards
            for start in range(len(shard) - n + 1)
        }
        expected = [text[start : start + n] in trained for start in range(len(text) - n + 1)]
        assert index.occurring(text, n).tolist() == expected
    assert 0 < sum(expected) < len(expected), "the last case must tell something"


def test_impossible_length_of_n_grams_is_refused():
    index = recitation.NGramIndex(TRAINED)
    with pytest.raises(ValueError, match="at least 1"):
        index.occurring((1,), 0)
    with pytest.raises(ValueError, match="no longer than a shard"):
        index.occurring(range(21), 2)


# Repetition


def test_repeated_share_counts_n_grams_seen_before():
    assert repeated_share((1, 2, 1, 2, 1), 2) == pytest.approx(1 - 2 / 4)
    assert repeated_share((1, 2, 3, 4), 2) == 0
    assert repeated_share((1, 2), 4) == 0


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((9, *(1, 2, 3) * 8, 1, 2), True),  # cut off in the middle of a round
        ((9, *(1, 2, 3) * 7), False),  # 21 tokens: too short
        (tuple(range(10)) * 3, True),
        (tuple(range(10)) * 2, False),  # two rounds are not a loop
        ((*(1, 2, 3) * 8, 9), False),  # it left the loop
        (tuple(range(33)) * 4, False),  # a round is too long
        ((5,) * 24, True),
        ((), False),
    ],
)
def test_long_repetition_at_the_end_is_a_loop(ids, expected):
    assert ends_in_loop(ids) is expected


# Acceptance

DRAFT = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]))
TARGET = np.log(np.array([[0.2, 0.6, 0.2], [0.3, 0.6, 0.1]]))


def test_acceptance_is_the_overlap_of_distributions():
    found = acceptance.acceptance_probability(DRAFT, TARGET, 1.0)
    assert found == pytest.approx([0.2 + 0.3 + 0.2, 0.1 + 0.6 + 0.1])
    found = acceptance.acceptance_probability(DRAFT[:1], TARGET[:1], 0.5)
    draft, target = np.array([0.25, 0.09, 0.04]) / 0.38, np.array([0.04, 0.36, 0.04]) / 0.44
    assert found == pytest.approx([np.minimum(draft, target).sum()])


def test_greedy_acceptance_needs_equal_top_tokens():
    assert acceptance.acceptance_probability(DRAFT, TARGET, 0).tolist() == [0, 1]
    assert acceptance.accepted_share(DRAFT, TARGET, [1, 1], 0).tolist() == [0, 1]


def test_accepted_share_is_ratio_capped_at_one():
    found = acceptance.accepted_share(DRAFT, TARGET, [1, 0], 1.0)
    assert found == pytest.approx([0.3 / 0.6, 0.1 / 0.3])
    assert acceptance.accepted_share(DRAFT, TARGET, [0, 1], 1.0) == pytest.approx([1, 1])


def test_perfect_and_useless_drafts_give_most_and_fewest_tokens():
    found = acceptance.walk([np.ones(20), np.ones(7)], proposals=4)
    assert found.tokens_per_pass == 5 and found.reached == (1, 1, 1, 1)
    assert acceptance.walk([np.zeros(9)], proposals=4).tokens_per_pass == 1
    with pytest.raises(ValueError, match="longer than 4 tokens"):
        acceptance.walk([np.ones(4)], proposals=4)


def test_next_pass_starts_after_the_rejected_token():
    # Two proposals a pass. Passes start at 0 (accepts one, then rejects), at 2 (accepts two), and
    # at 5 (rejects at once). No pass fits from 6 on.
    shares = np.array([1.0, 0, 1, 1, 1, 0, 1, 1])
    found = acceptance.walk([shares[:8]], proposals=2)
    assert found.reached == pytest.approx((2 / 3, 1 / 3))
    assert found.tokens_per_pass == pytest.approx((2 + 3 + 1) / 3)


def test_walk_averages_over_all_acceptance_outcomes():
    """Compare with every sequence of yes and no, pass by pass, weighted by its probability."""
    shares = np.array([0.5, 0.25, 0.75, 0.5, 0.1, 0.9, 0.5])
    proposals = 2
    starts = 0.0
    accepted_in_all = 0.0
    for outcome in itertools.product((0, 1), repeat=len(shares)):
        chance = math.prod(
            s if yes else 1 - s for s, yes in zip(shares.tolist(), outcome, strict=True)
        )
        place = 0
        while place + proposals < len(shares):
            run = 0
            while run < proposals and outcome[place + run]:
                run += 1
            starts += chance
            accepted_in_all += chance * run
            place += run + 1
    found = acceptance.walk([shares], proposals)
    assert found.tokens_per_pass == pytest.approx(1 + accepted_in_all / starts)


# Diffusion


class Filler:
    """A diffusion model of six tokens, the last the mask: each place holds the next number, 0 to 4.

    It is sure of a place whose left neighbour it sees. Elsewhere it slightly prefers token 0.
    """

    name, mask_id, pad_id, vocab_size, context_length = "filler", 5, None, 6, 64
    device = torch.device("cpu")

    def text(self, ids):
        return " ".join(map(str, ids))

    def logits(self, ids):
        rows = np.zeros((len(ids), 6), dtype=np.float32)
        rows[:, 5] = -np.inf
        rows[:, 0] = 0.5
        for place in range(1, len(ids)):
            if ids[place - 1] != self.mask_id:
                rows[place, (ids[place - 1] + 1) % 5] = 9
        return rows


def test_gaps_are_cut_from_middle_of_long_texts():
    first, second = [1, 2, 3, 4, 1, 2, 3, 4], [2, 3, 4, 1, 2, 3, 4, 1]
    story = np.array([0, *first, 0, 1, 0, *second])
    gaps = diffusion.held_out_gaps(story, count=9, window=8, gap=2)
    assert [gap.ids for gap in gaps] == [tuple(first), tuple(second)]
    assert gaps[0].hidden == (4, 1)
    assert gaps[0].canvas(5) == (1, 2, 3, 5, 5, 2, 3, 4)
    passages = diffusion.held_out_passages(story, count=1, prompt=3, passage=4)
    assert passages[0].canvas(5) == (1, 2, 3, 5, 5, 5, 5), "all but the prompt is hidden"
    assert passages[0].hidden == (4, 1, 2, 3)


GAP = diffusion.Gap((1, 2, 3, 4, 0, 1), 2, 5)


def test_fill_uses_earlier_tokens_with_more_steps():
    model = Filler()
    assert diffusion.fill(model, GAP, steps=1, temperature=0.0, seed=0) == (3, 0, 0)
    assert diffusion.fill(model, GAP, steps=3, temperature=0.0, seed=0) == (3, 4, 0)


def test_judge_scores_only_tokens_after_the_prompt():
    # After any last token, 0, 1, 2 and 3 have these probabilities: 3, 3, 2 and 1 bits.
    probs = np.array([1 / 8, 1 / 8, 1 / 4, 1 / 2], dtype=np.float32)
    gap = diffusion.Gap((0, 1, 2, 3), 2, 4)

    def judge(ids):
        return np.log(probs)[None].repeat(len(ids), axis=0)

    assert diffusion.bits_per_token(judge, [gap], [(2, 3)]) == pytest.approx((2 + 1) / 2)
    assert diffusion.bits_per_token(judge, [gap, gap], [(2, 3), (2, 0)]) == pytest.approx(8 / 4)


def test_judge_conditions_on_all_earlier_tokens():
    # Sure of the successor of the last token seen: 0 bits for 2 3 after 0 1, many for 3 2.
    gap = diffusion.Gap((0, 1, 9, 9), 2, 4)

    def judge(ids):
        return np.stack([np.eye(5, dtype=np.float32)[token + 1] * 50 for token in ids])

    assert diffusion.bits_per_token(judge, [gap], [(2, 3)]) == pytest.approx(0, abs=1e-6)
    assert diffusion.bits_per_token(judge, [gap], [(3, 2)]) == pytest.approx(50 / math.log(2))


def test_quality_skips_gaps_shorter_than_step_count():
    passage = diffusion.Gap((1, 2, 3, 4, 0, 1), 1, 6)

    def judge(ids):
        return np.zeros((len(ids), 8), dtype=np.float32)

    found = diffusion.quality_by_steps(
        Filler(), judge, [GAP], [passage], steps=(1, 3, 5), temperature=0.0
    )
    assert found[1] == diffusion.Quality(
        recovered=2 / 3,
        bits_per_token=pytest.approx(3),
        repeated_pairs=0.5,  # 2 0 0 0 0: two of four pairs repeat 0 0
    )
    assert found[3].recovered == 1
    assert diffusion.recovered([GAP, GAP], [(3, 4, 0), (4, 4, 3)]) == pytest.approx(4 / 6)
    assert found[5].recovered is None and found[5].repeated_pairs == 0
