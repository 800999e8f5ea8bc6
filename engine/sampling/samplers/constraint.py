"""A stage that keeps a text within a grammar: choices, regular expression, JSON schema, Lark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import NoCandidatesError, SettingError, msg
from engine.grammar import Place, Places, checked_source, notices, shortened
from engine.sampling.samplers.base import NO_CONTEXT, BanStage, Context, ranked_after
from engine.sampling.samplers.info import Info, arxiv
from engine.sampling.survivors import Survivors

_REMEDY = msg("choose a model with a tokenizer, or switch it off")


@dataclass(frozen=True)
class ConstraintState:
    """State that a constraint keeps between steps.

    Attributes:
        digest: short hash that identifies the constraint.
        tokens: number of tokens generated since it was switched on.
    """

    digest: str
    tokens: int


@dataclass(frozen=True)
class Constraint(BanStage):
    """Remove every token after which the text could no longer match the source.

    Willard and Louf 2023 (arXiv:2307.09702); the masks are llguidance's, over the bytes of the
    model's tokens. The constraint covers the tokens generated from the step in which it is switched
    on, but neither the prompt nor earlier tokens. The end of the text is allowed exactly when the
    text is complete. If nothing else is allowed, the text ends.

    Every token path that spells an allowed text is allowed, not only the one a tokenizer would
    choose. The odds among allowed tokens do not change within a step. So the frequencies of whole
    texts differ from the model's own odds (Park et al. 2024, arXiv:2405.21047). transformers has no
    such rule.

    Some instances of a JSON schema cannot be written. White space is capped, properties come in the
    schema's order, integers without a fraction, and characters are escaped only if they must be. A
    ``format`` constrains the form alone: a ``date`` may be the 29th of any February, a ``time`` any
    minute's leap second. Up to draft-07, keywords next to ``$ref`` are ignored. Words that are not
    keywords have no effect; `notices` names them.

    A forced token may violate the constraint. Then every further step is refused
    (`NoCandidatesError`) until the token is rewound, or the constraint is switched off or changed,
    which starts it over.

    Figures: ``allowed``, the number of tokens in the vocabulary that it allows; ``tokens``, the
    number that it has read. Cases: ``end`` if only the end of the text is allowed; ``single`` if it
    leaves one token; ``none`` if nothing was removed; else ``""``.

    Attributes:
        language: ``choices``, ``regex``, ``json_schema`` or ``lark``.
        source: text in that language, at most 65,536 bytes; choices as a JSON list. A list of
            choices and a schema may also be given as Python values.
    """

    language: str = "choices"
    source: str = '["yes", "no"]'
    setting: ClassVar[str] = "constraint"
    info: ClassVar[Info] = Info(
        label="Constraint",
        group="penalties",
        about="Bans every token after which the text could no longer match the source.",
        formula="z = −∞ for tokens outside the grammar; the end only where the text is complete",
        idle="any text may come",
        picture="edit",
        says={
            "": "The constraint allows {allowed:tokens} here. It removes {names:names}: "
            "{banned:tokens} with {mass_removed:percent} of the probability.",
            "none": "The constraint allows {allowed:tokens} here and removes none of those left.",
            "single": "The constraint allows only one token here. It removes {banned:tokens} with "
            "{mass_removed:percent} of the probability.",
            "end": "The text is complete, so the constraint allows only its end. It removes "
            "{banned:tokens} with {mass_removed:percent} of the probability.",
        },
        note={
            "": "{allowed:tokens} allowed",
            "none": "all that is left is allowed",
            "single": "a single token allowed",
            "end": "only the end is allowed",
        },
        paper=arxiv("Willard and Louf 2023", "2307.09702"),
    )

    def __post_init__(self) -> None:
        source = self.source
        if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
            source = list(source)
        elif isinstance(source, Mapping):
            source = dict(source)
        object.__setattr__(self, "source", checked_source(self.language, source))
        digest = hashlib.sha256(f"{self.language}\n{self.source}".encode()).hexdigest()[:16]
        object.__setattr__(self, "_digest", digest)

    @property
    def notices(self) -> tuple[str, ...]:
        """The parts of the source that are not enforced, as half sentences."""
        return notices(self.language, self.source)

    def place(self, context: Context) -> Place:
        """Return the text's place in the source before this step."""
        return self._at(context.places, self._ids(context))

    def forced(self, context: Context) -> bytes:
        """Return the bytes that must come next."""
        places = self._known(context.places)
        return places.forced(self.language, self.source, self._ids(context))

    def check_tokens(self, places: Places) -> None:
        place = self._at(places, ())
        if not place.allowed.any():
            problem = msg("allows none of this model's tokens at the beginning of a text")
            remedy = msg("change it to allow a text of characters that the model has tokens for")
            raise SettingError(self.setting, shortened(self.source), problem, remedy)

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        place = self.place(context)
        if not place.allowed.any():
            raise NoCandidatesError(self._nothing_left(place))
        scores = survivors.scores
        stays = np.where(place.allowed, scores, np.float32(-np.inf))
        if np.array_equal(stays, scores):
            return survivors
        return ranked_after(self.setting, stays)

    def _nothing_left(self, place: Place) -> str:
        source = shortened(self.source)
        if place.broken_at is not None:
            why = msg(
                "because token {broken_at:,} after the constraint took effect broke {source}",
                (place.broken_at + 1, repr(source)),
            )
            remedy = msg("rewind to before that token, or switch it off")
        elif place.may_end:
            why = msg(
                "because {source} is complete and this model has no end-of-text token", repr(source)
            )
            remedy = msg("stop here, or switch it off")
        else:
            why = msg(
                "because {source} allows nothing here that this model has tokens for",
                repr(source),
            )
            remedy = msg("rewind, or change the constraint")
        return msg(
            "Every token was removed before the draw: the constraint removed the last of "
            "them, {why}; {remedy}.",
            (why, remedy),
        )

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        allowed = int(np.count_nonzero(self.place(context).allowed))
        return {"allowed": allowed, "tokens": self.state(context).tokens}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if self.place(context).must_end:
            return "end"
        return "single" if after.count == 1 < before.count else super().case(before, after, context)

    def initial_state(self) -> ConstraintState:
        return ConstraintState(self._digest, 0)

    def resumed(self, left: ConstraintState) -> ConstraintState:
        return left if left.digest == self._digest else self.initial_state()

    def after(self, state: ConstraintState, token_id: int, before: Survivors) -> ConstraintState:
        return ConstraintState(state.digest, state.tokens + 1)

    def recorded(self, context: Context) -> dict[str, float]:
        return {"tokens": self.state(context).tokens}

    def _ids(self, context: Context) -> np.ndarray:
        """Return the tokens since it was switched on."""
        ids = context.token_ids
        return ids[ids.size - self.state(context).tokens :]

    def _at(self, places: Places | None, ids: Sequence[int] | np.ndarray) -> Place:
        return self._known(places).at(self.language, self.source, ids)

    def _known(self, places: Places | None) -> Places:
        if places is None:
            problem = msg("needs the text of every token")
            raise SettingError(self.setting, shortened(self.source), problem, _REMEDY)
        return places
