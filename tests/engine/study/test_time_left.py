"""The estimate of the time left, against batches whose passes take as long as they are told to."""

import random
from collections.abc import Iterator, Sequence

import pytest

from engine.decoding.batch import Progress
from engine.study.time_left import TimeLeft

FIXED, PER_ROW, PREFILL = 0.008, 0.0005, 0.05  # seconds
WIDTH, LIMIT = 32, 64


def lengths(texts: int) -> list[int]:
    """Half of them end within 16 tokens, the others go on to the limit; seed 5."""
    generator = random.Random(5)
    return [generator.randint(2, 16) if generator.random() < 0.5 else LIMIT for _ in range(texts)]


def progress(rows_done: int, rows: int, tokens: int, seconds: float) -> Progress:
    return Progress(rows_done, rows, tokens, rows * LIMIT, float(rows * LIMIT), seconds)


def batch(texts: Sequence[int], *, prompts: int = 1) -> Iterator[Progress]:
    """What a batch of texts of these lengths reports, part by part and token by token."""
    seconds, tokens, done = 0.0, 0, 0
    yield progress(0, len(texts), 0, seconds)
    share = len(texts) // prompts
    for prompt in range(prompts):
        seconds += PREFILL
        mine = texts[prompt * share : (prompt + 1) * share]
        for begin in range(0, share, WIDTH):
            part = mine[begin : begin + WIDTH]
            for place in range(max(part)):
                rows = sum(length > place for length in part)
                tokens += rows
                done += sum(length == place + 1 for length in part)
                seconds += FIXED + PER_ROW * rows if place else 0.0
                yield progress(done, len(texts), tokens, seconds)


def estimates(
    texts: Sequence[int], *, prompts: int = 1
) -> list[tuple[Progress, float | None, float]]:
    """For every token: progress, estimate, and what it should have been."""
    left = TimeLeft(len(texts), LIMIT, prompts)
    whole = list(batch(texts, prompts=prompts))
    return [
        (now, left.seconds(WIDTH), whole[-1].seconds - now.seconds) for now in left.watched(whole)
    ]


@pytest.mark.parametrize("prompts", [1, 3])
def test_the_estimate_is_near_once_a_part_of_the_texts_has_ended(prompts):
    # With one chance to end at every token, and one speed, it would be off by up to 38 %.
    found = estimates(lengths(288), prompts=prompts)
    after = [(told, true) for now, told, true in found if now.rows_done >= WIDTH and true > 0.2]
    assert len(after) > 100
    for told, true in after:
        assert 0.75 * true < told < 1.3 * true, f"{told:.2f} s told, {true:.2f} s in truth"


def test_texts_that_end_early_first_promise_no_early_end_to_the_others():
    found = estimates(lengths(96))
    first = [(told, true) for now, told, true in found if now.tokens_done > WIDTH][:40]
    for told, true in first:
        assert 0.95 * true < told < 2 * true, f"{told:.2f} s told, {true:.2f} s in truth"


def test_it_says_nothing_before_there_is_a_pass_and_nothing_is_left_at_the_end():
    found = estimates(lengths(40))
    assert [told for _, told, _ in found[:2]] == [None, None]
    assert all(told > 0 for _, told, _ in found[2:-1])
    assert found[-1][1] == 0.0


def test_a_machine_that_grows_slow_is_noticed():
    whole, late = list(batch([LIMIT] * 320)), 0.0
    run = []
    for before, now in zip([whole[0], *whole], whole, strict=False):
        if now.rows_done >= 160:  # from there on everything takes four times as long
            late += 3 * (now.seconds - before.seconds)
        run.append(progress(now.rows_done, 320, now.tokens_done, now.seconds + late))
    left = TimeLeft(320, LIMIT)
    told = [(left.seconds(WIDTH), now) for now in left.watched(run)]
    at_256, now = next((told, now) for told, now in told if now.rows_done == 256)
    assert at_256 == pytest.approx(run[-1].seconds - now.seconds, rel=0.15)


def test_it_goes_on_after_a_cancel_with_what_it_has_learned():
    texts = [LIMIT] * 64
    whole = list(batch(texts))
    left = TimeLeft(len(texts), LIMIT)
    *_, now = left.watched(whole[:97])  # in the second part, at its token 32
    before = left.seconds(WIDTH)
    # The tokens drawn before are read again, each in a pass of its own, and bring nothing new.
    again = [progress(32, 64, now.tokens_done, 0.1 * place) for place in range(33)]
    on = [
        progress(late.rows_done, 64, late.tokens_done, 3.2 + late.seconds - now.seconds)
        for late in whole[97:]
    ]
    seen = [left.seconds(WIDTH) for _ in left.watched(again + on)]
    assert seen[len(again)] == pytest.approx(before, rel=0.1)
    assert seen[-1] == 0.0


def test_texts_of_one_token_need_no_pass():
    left = TimeLeft(3, 1)
    run = [progress(0, 3, 0, 0.0), progress(1, 3, 1, 0.5), progress(2, 3, 2, 1.0)]
    assert [left.seconds(1) for _ in left.watched(run)] == [None, 1.0, 0.5]
