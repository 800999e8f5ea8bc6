"""One wrong token in a text under a constraint: the text goes on without it, and is judged."""

from __future__ import annotations

from dataclasses import dataclass

from engine.decoder import Decoder
from engine.sampling.stages import Constraint
from engine.study.constraint import ribbon
from engine.study.verdict import Verdict, verdict

FURTHER = 32  # tokens at most after the wrong one


@dataclass(frozen=True)
class Broken:
    """What came of a wrong token.

    Attributes:
        index: the step in which it was forced.
        before, wrong, after: the text in three parts; the wrong token's own part in the middle.
        verdict: what an independent parser says of the whole.
        left_at: place of the first character that the constraint does not allow, None where the
            text keeps to it.
        is_complete: whether the constraint takes the whole text.
    """

    index: int
    before: str
    wrong: str
    after: str
    verdict: Verdict
    left_at: int | None
    is_complete: bool

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.wrong + self.after


def without_constraint(text: Decoder, index: int, token_id: int) -> Broken:
    """Fork a text, force a token in a step, and go on without the constraint.

    Raises:
        DecodingError: what stepping raises; the text given stays as it is.
    """
    constraint = text.settings_at(index).stage(Constraint.setting)
    twin = text.fork()
    try:
        twin.rewind(index)
        twin.settings = twin.settings.replace(constraint=None)
        before = twin.text
        twin.step(token_id)
        end = len(twin.text)
        for _ in twin.run(index + 1 + FURTHER):
            pass
    finally:
        twin.release_cache()
    whole = twin.text
    read = ribbon(constraint, whole.encode())
    left_at = None
    if read.broken_at is not None:
        left_at = len(whole.encode()[: read.broken_at].decode("utf-8", "ignore"))
    return Broken(
        index,
        before,
        whole[len(before) : end],
        whole[end:],
        verdict(constraint, whole),
        left_at,
        read.is_complete,
    )
