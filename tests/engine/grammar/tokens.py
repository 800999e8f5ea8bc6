"""Made-up tokens, for constraints without a model."""

from collections.abc import Sequence
from functools import lru_cache

from engine.grammar import Places, TokenTable


@lru_cache(maxsize=256)
def places_over(
    tokens: Sequence[bytes], ends: tuple[int, ...] = (), special: tuple[int, ...] = ()
) -> Places:
    """Places in constraints over these tokens."""
    table = TokenTable(tokens, frozenset(special), ends)
    return Places(lambda: table, len(tokens))


@lru_cache(maxsize=16)
def words_of_abc(count: int) -> tuple[bytes, ...]:
    """The first words over a, b and c, shorter ones first: a, b, c, aa, ab, ..."""
    words = longest = [b""]
    while len(words) <= count:
        longest = [word + bytes((letter,)) for word in longest for letter in b"abc"]
        words = words + longest
    return tuple(words[1 : count + 1])
