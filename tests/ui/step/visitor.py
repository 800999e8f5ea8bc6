"""A browser as the session sees it: numbers its events, states its place, reads its messages."""

import json
import struct

from engine.sampling import SamplingSettings
from ui.step.events import Event, Place
from ui.step.message import Sent, row_answer, state_message
from ui.step.questions import answer
from ui.step.session import Session
from ui.texts.settings import shown_samplers

PROMPT = "Once upon a time, there was a little"  # continues for long


def unpacked(data: bytes) -> tuple[dict, bytes]:
    """Return header and arrays of a message."""
    (length,) = struct.unpack_from("<I", data)
    assert length % 4 == 0
    return json.loads(data[4 : 4 + length]), data[4 + length :]


class Visitor:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.number = 0
        self.settings = SamplingSettings(temperature=0.8, top_p=0.95, seed=3)
        self.sent = Sent()

    def event(self, kind: str, **fields) -> Event:
        session = self.session
        self.number += 1
        fields.setdefault("at", Place(session.run, session.current, session.length))
        fields.setdefault("settings", self.settings)
        fields.setdefault("order", shown_samplers(fields["settings"]))
        return Event(client="browser", number=self.number, kind=kind, **fields)

    def do(self, kind: str, **fields) -> Event:
        """Send an action."""
        event = self.event(kind, **fields)
        if kind == "sync":
            self.sent.forget()
        self.session.apply(event)
        return event

    def ask(self, kind: str, **fields) -> dict:
        """Return the answer to a question."""
        return answer(self.session, self.event(kind, **fields))

    def steps(self, count: int) -> list[int]:
        """Return the text after that number of presses of Step."""
        for _ in range(count):
            self.do("step")
        assert self.session.error == ""
        return self.session.decoder.token_ids

    def read(self, *, whole: bool = False) -> tuple[dict, bytes]:
        """Return the session's current message to this page."""
        return unpacked(state_message(self.session, self.sent, whole=whole))

    def read_all(self, *, whole: bool = False) -> tuple[dict, bytes]:
        """Return the session's message to a page that has nothing."""
        return unpacked(state_message(self.session, Sent(), whole=whole))

    def whole_row(self) -> tuple[dict, bytes]:
        """Return the answer to a page that asks for the whole row."""
        return unpacked(row_answer(self.session, self.sent, {}))
