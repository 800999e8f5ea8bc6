"""Check: which settings a server honours, by its own account or by what it draws."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.backend.own_sampling import DrawsItself
from engine.backend.server_model import ServerModel
from engine.errors import Message, ServerError, msg
from engine.export import names_of
from engine.export.llama_cpp import SAMPLERS
from engine.runner.job import this_job
from engine.sampling import DEFAULT_ORDER
from engine.sampling.samplers import Stage
from engine.server_check.draws import ALARM, Drawn, drawn_of
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Sheet
from engine.server_check.samplers import foreign, name_of, tested
from engine.server_check.text import Text, drawing, is_refusal, listed_row, written

HONOURED = msg("honoured")
CHANGED = msg("changed")
DROPPED = msg("ignored without an error")
REFUSED = msg("refused with an error")
UNDECIDED = msg("not decided")
_SAMPLERS = "samplers"
_FLOAT32 = 1e-5  # relative
_LONGEST = 200  # characters of a value


@dataclass(frozen=True)
class Setting:
    """One setting, sent alone.

    Attributes:
        name: the setting with its value, under our name; for a foreign sampler, the server's.
        sent: the request's parameters.
        told: the same parameters as the server reads them back; empty if it does not.
        outcome: HONOURED, CHANGED, DROPPED, REFUSED or UNDECIDED.
        is_known: whether such a server has the sampler, as far as known here.
        drawn: figures of the draws; None if the server reads settings back.
    """

    name: str
    sent: str
    told: str
    outcome: Message
    is_known: bool
    drawn: Drawn | None = None


@dataclass(frozen=True)
class Honoured:
    """Outcomes of all settings.

    Attributes:
        settings: each setting.
        defaults: samplers that act on a request that sets nothing, by the server's account.
        draws: number of draws for each setting; 0 if the server reads settings back.
    """

    settings: tuple[Setting, ...]
    defaults: tuple[str, ...]
    draws: int

    title: ClassVar[Message] = msg("Settings sent")

    def _named(self, outcome: str, *, is_known: bool) -> list[str]:
        return [
            each.name
            for each in self.settings
            if each.outcome == outcome and each.is_known == is_known
        ]

    @property
    def outcome(self) -> str:
        """As expected if every setting that such a server has is honoured."""
        for each in self.settings:
            if each.outcome != HONOURED and each.outcome != UNDECIDED and each.is_known:
                return DIFFERS
        if any(each.outcome == UNDECIDED for each in self.settings):
            return OPEN
        return AS_EXPECTED

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        known = [each for each in self.settings if each.is_known]
        honoured = self._named(HONOURED, is_known=True)
        said = [
            msg("It honours {count} of {all} settings.", (len(honoured), len(known)))
            if not self.draws
            else msg(
                "Its draws show that it honours {count} of {all} settings.",
                (len(honoured), len(known)),
            )
        ]
        for outcome, sentence in _SAID.items():
            for is_known in (True, False):
                names = self._named(outcome, is_known=is_known)
                if names and sentence[not is_known]:
                    said.append(msg(sentence[not is_known], ", ".join(names)))
        if self.defaults:
            said.append(
                msg(
                    "A request that sets nothing gets the server's own: {names}.",
                    ", ".join(self.defaults),
                )
            )
        if self.draws:
            said.append(
                msg(
                    "With {draws:,} draws for each setting: if each is either honoured or ignored, "
                    "a wrong verdict on any of them has a probability of at most {alarm}.",
                    (self.draws, f"{ALARM:.0%}".replace("%", " %")),
                )
            )
        return said

    @property
    def sheets(self) -> list[Sheet]:
        """Every setting."""
        return [self._drawn_sheet() if self.draws else self._told_sheet()]

    def _told_sheet(self) -> Sheet:
        head = (msg("setting"), msg("outcome"), msg("sent"), msg("read back"))
        rows = [
            (
                each.name,
                each.outcome,
                each.sent,
                msg("as sent") if each.outcome == HONOURED else each.told or msg("nothing"),
            )
            for each in self.settings
        ]
        return Sheet(msg("Each setting, sent alone"), head, tuple(rows))

    def _drawn_sheet(self) -> Sheet:
        head = (
            msg("setting"),
            msg("outcome"),
            msg("probability of such draws if honoured"),
            msg("if dropped"),
            msg("distance of the two"),
            msg("impossible draws"),
        )
        rows = [
            (
                each.name,
                each.outcome,
                *(
                    (each.drawn.honoured, each.drawn.dropped, each.drawn.distance)
                    if each.drawn
                    else (None, None, None)
                ),
                each.drawn.impossible if each.drawn else None,
            )
            for each in self.settings
        ]
        return Sheet(msg("Each setting, by what the server draws"), head, tuple(rows))


_UNDECIDED = msg(
    "These draws do not decide: {names}; make more draws, or choose a prompt with more possible "
    "continuations."
)
# Sentences on known settings, and on samplers that such a server lacks.
_SAID = {
    CHANGED: (
        msg("It changes what was sent: {names}."),
        msg("It reads these as other settings: {names}."),
    ),
    DROPPED: (
        msg("It ignores without an error: {names}."),
        msg("It ignores samplers that it lacks, without an error: {names}."),
    ),
    REFUSED: (
        msg("It refuses with an error: {names}."),
        msg("It refuses samplers that it lacks, with an error: {names}."),
    ),
    UNDECIDED: (_UNDECIDED, _UNDECIDED),
    HONOURED: ("", msg("It has these too: {names}.")),
}


def check_honoured(model: ServerModel, text: Text, draws: int, seed: int) -> Honoured:
    """Send every setting alone, and compare it with what the server reads back, or draws.

    Args:
        model: the server.
        text: the text to continue.
        draws: number of answers for each setting, if the server does not read settings back.
        seed: of the draws.

    Raises:
        CapabilityError: the server is not asked to draw, or the names of its settings are unknown.
    """
    server = drawing(model)
    listed, row = listed_row(model, text)
    is_whole = listed.ids.size == model.vocab_size
    stages = tested(model, row, text)
    said = server.draw(text.token_ids, {}).settings
    written(model)  # raises if the names are unknown
    if said is None:
        settings = [
            Setting(name, _line(sent), "", _by_draws(drawn), known, drawn)
            for name, sent, known, drawn in drawn_of(
                model, text, row, is_whole, stages, draws, seed
            )
        ]
        return Honoured(tuple(settings), (), draws)
    settings = [_told(server, model, text, stage, said) for stage in stages]
    for name, value in foreign(model.dialect.kind).items():
        this_job().check()
        shown = name if value is True else f"{name} {value:g}"
        sent = {name: value, _SAMPLERS: [name]}
        settings.append(_setting(server, text, shown, sent, said, is_known=False))
    return Honoured(tuple(settings), tuple(_defaults(model, said)), 0)


def _told(
    server: DrawsItself, model: ServerModel, text: Text, stage: Stage, said: Mapping[str, Any]
) -> Setting:
    this_job().check()
    sent = written(model, [stage])
    return _setting(server, text, name_of([stage]), sent, said, is_known=True)


def _setting(
    server: DrawsItself,
    text: Text,
    name: str,
    sent: Mapping[str, Any],
    before: Mapping[str, Any],
    *,
    is_known: bool,
) -> Setting:
    try:
        told = server.draw(text.token_ids, sent).settings or {}
    except ServerError as error:
        if not is_refusal(error):
            raise
        return Setting(name, _line(sent), str(error.message), REFUSED, is_known)
    back = {each: told[each] for each in sent if each in told}
    return Setting(name, _line(sent), _line(back), _outcome(sent, back, before), is_known)


def _outcome(sent: Mapping[str, Any], told: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if all(each in told and is_same(sent[each], told[each]) for each in sent):
        return HONOURED
    named = [each for each in sent if each != _SAMPLERS]
    # A parameter that stays at its default has been dropped, as one that is missing.
    is_lost = all(
        each not in told or (is_same(told[each], before.get(each)) and told[each] != sent[each])
        for each in named
    )
    return DROPPED if is_lost or not told.get(_SAMPLERS, True) else CHANGED


def is_same(sent: Any, told: Any) -> bool:
    """Return whether a value read back is the one sent, up to float32's rounding."""
    if isinstance(sent, bool) or isinstance(told, bool):
        return sent is told
    if isinstance(sent, int | float) and isinstance(told, int | float):
        return bool(np.isclose(sent, told, rtol=_FLOAT32, atol=1e-9))
    if isinstance(sent, list | tuple) and isinstance(told, list | tuple):
        return len(sent) == len(told) and all(map(is_same, sent, told))
    return sent == told


def _by_draws(drawn: Drawn | None) -> Message:
    if drawn is None:
        return REFUSED
    if drawn.rejects_honoured:
        return CHANGED if drawn.rejects_dropped else DROPPED
    return HONOURED if drawn.rejects_dropped else UNDECIDED


def _defaults(model: ServerModel, said: Mapping[str, Any]) -> Iterator[str]:
    """Yield the samplers that act on a request that sets nothing, under the server's names."""
    active = said.get(_SAMPLERS)
    for kind in DEFAULT_ORDER:
        if not kind.is_one_number():
            continue
        for name in names_of(model.dialect.kind, kind.setting)[:1]:
            value = said.get(name)
            is_set = isinstance(value, int | float) and value > 0 and not kind.is_off(value)
            is_active = active is None or SAMPLERS.get(kind.setting) in active
            if is_set and is_active:
                yield f"{name} {value:.6g}"


def _line(values: Mapping[str, Any]) -> str:
    """Return parameters on a line: ``top_k 7, samplers top_k``."""
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())[:_LONGEST]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.7g}"  # without the digits that float32 adds
    if isinstance(value, list | tuple):
        return " ".join(map(_value, value)) or "[]"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
