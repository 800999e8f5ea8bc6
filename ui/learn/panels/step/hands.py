"""Actions of a person on the step page, done on the server: the events that the page sends."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from engine.errors import DecodingError, PromptError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import MOST_TOKENS
from ui.learn.functions import Call, Functions
from ui.step.events import Event, Place
from ui.step.session import Session
from ui.texts.settings import parse_settings, plain_settings, stage_defaults
from ui.texts.texts import Contrastive, begun_anew

BY_ITSELF = ("settings", "sync")  # actions that the page also sends without a person


class LessonSession(Session):
    """A session that a lesson begins.

    Attributes:
        done: how often each kind of action was done since the panel began; a press of Step counts
            each token. A refused action does not count.
        last_action: the newest action except settings, which the page also sends by itself; empty
            before the first.
    """

    def __init__(self, model: LanguageModel, prompt: str, settings: SamplingSettings) -> None:
        super().__init__(model, prompt, settings)
        self.done: Counter[str] = Counter()
        self.last_action = ""

    def _prepare(self) -> None:
        super()._prepare()
        self.done = Counter()
        self.last_action = ""

    def apply(self, event: Event, **others: Any) -> None:
        """Apply a person's action, once; see `Session.apply`."""
        if self.acknowledged.covers(event.client, event.number):
            return
        super().apply(event, **others)
        if not self.error:
            kind = "play" if event.playing and event.kind == "step" else event.kind
            self.done[kind] += event.count - self.left
            if kind not in BY_ITSELF:
                self.last_action = kind


ACTIONS = Functions()


class Hands:
    """A simulated person at the step page, for actions that a lesson does.

    Args:
        session: the session on their screen; its lock is held.
    """

    def __init__(self, session: LessonSession) -> None:
        self.session = session
        self.settings = plain_settings(session.settings, session.order)
        self.limits = {
            "max_tokens": session.max_tokens,
            "stop_strings": session.decoder.stop_strings,
        }
        self.beginning = begun_anew(session.beginning, session.decoder)
        self.what_if = False
        self._client = secrets.token_hex(8)
        self._number = 0

    def do(self, actions: Iterable[Call[Hands, None]]) -> None:
        """Do actions one after the other; raises `DecodingError` at the first refusal."""
        for action in actions:
            action(self)

    def send(self, kind: str, **fields: Any) -> None:
        """Send one event; raises the page's error if it is refused."""
        session = self.session
        settings, order = parse_settings(self.settings)
        self._number += 1
        before = session.row_key
        event = Event(
            self._client,
            self._number,
            kind,
            at=Place(session.run, session.current, session.length),
            settings=settings,
            order=order,
            what_if=self.what_if,
            chat=self.beginning.chat,
            negative_prompt=self.beginning.negative_prompt,
            guidance_scale=self.beginning.scale,
            strategy=self.beginning.strategy,
            **{**self.limits, **fields},
        )
        session.apply(event)
        if session.error:
            raise DecodingError(session.error)
        if session.row_key != before:
            self.what_if = False

    def start(self, **changes: Any) -> None:
        """Press Start, after changes to the text's beginning."""
        self.beginning = replace(self.beginning, **changes)
        self.send("start", prompt=self.beginning.prompt)

    def presses(self, kind: str, times: int) -> None:
        """Repeat the same press while it changes the text."""
        for _ in range(times):
            self.send(kind)


def token_id(model: LanguageModel, text: str) -> int:
    """Return the id of a text that is one token; raises `PromptError` if it is none or several."""
    ids = model.vocabulary.encode(text)
    if len(ids) != 1:
        raise PromptError(
            f'"{text}" is {len(ids)} tokens in this vocabulary; name a text that is one token, '
            "with the space before it."
        )
    return ids[0]


# --- actions --------------------------------------------------------------------------------------


@ACTIONS.add
def step(hands: Hands, times: int = 1) -> None:
    """Press Step."""
    hands.presses("step", times)


@ACTIONS.add
def run(hands: Hands) -> None:
    """Press Run to end."""
    while not hands.session.has_reached_limit and hands.session.length < MOST_TOKENS:
        hands.send("run", playing=True)


@ACTIONS.add
def back(hands: Hands, times: int = 1) -> None:
    """Press Back."""
    hands.presses("back", times)


@ACTIONS.add
def rewind(hands: Hands) -> None:
    """Press Rewind."""
    hands.send("rewind")


@ACTIONS.add
def reroll(hands: Hands, times: int = 1) -> None:
    """Press Re-roll: the last token is drawn again with the next seed."""
    for _ in range(times):
        hands.settings["seed"] += 1
        hands.send("reroll", index=hands.session.index)


@ACTIONS.add
def force(hands: Hands, token: str) -> None:
    """Click a token of the table, which appends it."""
    session = hands.session
    hands.send("force", token_id=token_id(session.model, token), index=session.index)


@ACTIONS.add
def look(hands: Hands, token: int) -> None:
    """Click the generated token of this number; 1 is the first."""
    hands.send("inspect", index=token - 1)


@ACTIONS.add
def prompt(hands: Hands, text: str) -> None:
    """Write another prompt and press Start."""
    hands.start(prompt=text)


@ACTIONS.add
def guide(hands: Hands, negative_prompt: str, scale: float) -> None:
    """Switch Guidance on in Settings, write the negative prompt, set the scale, press Start."""
    hands.start(negative_prompt=negative_prompt, scale=scale)


@ACTIONS.add
def search(hands: Hands, candidates: int, alpha: float) -> None:
    """Choose contrastive search in Settings, set k and alpha, press Start."""
    hands.start(strategy=Contrastive(candidates, alpha))


@ACTIONS.add
def stop(hands: Hands, max_tokens: int = 64, stop_string: str = "") -> None:
    """Set the stop rules."""
    strings = (stop_string,) if stop_string else ()
    hands.limits = {"max_tokens": max_tokens, "stop_strings": strings}
    hands.send("settings")


@ACTIONS.add
def settings(hands: Hands, **values: Any) -> None:
    """Move sliders, switch samplers on, type a seed: temperature = 0.7, top_k = 5."""
    order = hands.settings["order"]
    for name, value in values.items():
        if name not in order and name != "seed":
            order.append(name)
        hands.settings[name] = value
    hands.what_if = True
    hands.send("settings")


@ACTIONS.add
def move(hands: Hands, sampler: str, before: str) -> None:
    """Drag a sampler in front of another one."""
    order = [name for name in hands.settings["order"] if name != sampler]
    order.insert(order.index(before), sampler)
    hands.settings["order"] = order
    settings(hands)


@ACTIONS.add
def switch_on(hands: Hands, sampler: str) -> None:
    """Switch a sampler of several numbers on, with the values that the page gives it: dry, xtc."""
    settings(hands, **{sampler: stage_defaults(hands.session.model.vocabulary)[sampler]})


@ACTIONS.add
def bias(hands: Hands, token: str, by: float) -> None:
    """Add a token to Logit bias, or give it another bias."""
    chosen = token_id(hands.session.model, token)
    before = (hands.settings.get("logit_bias") or {"bias": []})["bias"]
    others = [pair for pair in before if pair[0] != chosen]
    settings(hands, logit_bias={"bias": [*others, [chosen, by]]})


@ACTIONS.add
def ban(hands: Hands, text: str) -> None:
    """Add a token, or a text of several, to Banned words."""
    ids = hands.session.model.vocabulary.encode(text)
    before = (hands.settings.get("banned") or {"sequences": []})["sequences"]
    settings(hands, banned={"sequences": [*before, list(ids)]})
