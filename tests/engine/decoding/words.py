"""A small constraint, and the same by hand, for references that do not use llguidance."""

from collections.abc import Sequence
from functools import cache

from engine.model import LanguageModel
from engine.sampling.samplers import Constraint
from tests.engine.grammar.language import alt, chars, may_end, may_follow, seq, text, times

PATTERN = "[a-z]{2,4}(!|, ok)?"
WORD = Constraint("regex", PATTERN)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", "yz"]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
_LETTERS = chars("abcdefghijklmnopqrstuvwxyz")
_BY_HAND = seq(times(_LETTERS, 2, 4), alt(seq(), text("!"), text(", ok")))


def allowed(model: LanguageModel, generated: Sequence[int]) -> list[int]:
    """Ids that may follow these under `WORD`; only the end may follow the end."""
    end = model.eos_ids[0]
    if end in generated:
        return [end]
    return list(_allowed(model, b"".join(map(model.vocabulary.token_bytes, generated))))


@cache
def _allowed(model: LanguageModel, written: bytes) -> tuple[int, ...]:
    vocabulary = model.vocabulary
    fitting = (
        token_id
        for token_id in range(model.vocab_size)
        if not vocabulary.is_special(token_id) and _fits(written + vocabulary.token_bytes(token_id))
    )
    return (*fitting, *model.eos_ids[: may_end(_BY_HAND, written)])


@cache
def _fits(data: bytes) -> bool:
    return may_follow(_BY_HAND, data)
