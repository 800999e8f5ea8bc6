"""Repetition within a text: repeated n-grams, and loops at its end."""

from collections.abc import Sequence

LONGEST_PERIOD = 32  # tokens per round of a loop
LOOP_TOKENS = 24  # a loop is at least this long, so "no, no, no" does not count


def repeated_share(ids: Sequence[int], n: int) -> float:
    """Return the share of n-grams seen earlier in the text: 1 - distinct-n (Li et al. 2016).

    The share is 0.0 for a text shorter than n tokens.
    """
    grams = [tuple(ids[start : start + n]) for start in range(len(ids) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def ends_in_loop(ids: Sequence[int]) -> bool:
    """Tell whether the text ends in a loop.

    The last tokens must be three or more rounds of at most `LONGEST_PERIOD` tokens, and at least
    `LOOP_TOKENS` in total.
    """
    ids = list(ids)
    for period in range(1, LONGEST_PERIOD + 1):
        tail = max(3 * period, LOOP_TOKENS)
        if len(ids) >= tail and ids[-tail + period :] == ids[-tail:-period]:
            return True
    return False
