"""Repetition within a text: repeated n-grams, and loops at its end."""

from collections.abc import Sequence

LONGEST_PERIOD = 32  # tokens of what a loop repeats
LOOP_TOKENS = 24  # a loop is at least this long, so that "no, no, no" is none


def repeated_share(ids: Sequence[int], n: int) -> float:
    """Share of the n-grams that stand earlier in the text already: 1 - distinct-n (Li et al. 2016).

    0.0 for a text shorter than n tokens.
    """
    grams = [tuple(ids[start : start + n]) for start in range(len(ids) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def ends_in_loop(ids: Sequence[int]) -> bool:
    """Tell whether the text ends in a loop.

    That is, its last tokens are three or more rounds of at most `LONGEST_PERIOD` tokens, and at
    least `LOOP_TOKENS` in all.
    """
    ids = list(ids)
    for period in range(1, LONGEST_PERIOD + 1):
        tail = max(3 * period, LOOP_TOKENS)
        if len(ids) >= tail and ids[-tail + period :] == ids[-tail:-period]:
            return True
    return False
