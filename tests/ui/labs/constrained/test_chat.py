"""Constrained decoding of a message in a chat template."""

import json

import pytest

from tests.bundled import chatting
from ui.jobs import UNKNOWN
from ui.labs.constrained.lab import ConstrainedLab
from ui.texts.texts import messages

SYSTEM = {"role": "system", "content": "Answer in one word."}


@pytest.fixture(scope="module")
def chat_model():
    return chatting()


def test_text_and_walk_read_the_conversation(chat_model):
    lab = ConstrainedLab(chat_model)
    source = '["yes", "no"]'
    lab.change(prompt="Yes or no?", language="choices", source=source, chat=True, before=(SYSTEM,))
    lab.player.stop()
    wanted = chat_model.vocabulary.chat_ids(messages("Yes or no?", (SYSTEM,)))
    assert lab.error == "" and lab.text.prompt_ids == wanted
    lab.text.step()
    found = lab.inputs_of(lab.text.trace())
    assert (found.prompt, found.chat, found.before) == ("Yes or no?", True, (SYSTEM,))
    lab.begin(UNKNOWN)
    assert lab.walk.wait(30) and lab.walk._walk._ids == wanted
    record = json.loads(json.dumps(lab.record()))
    again = ConstrainedLab.restored(record, lambda *_: chat_model)
    again.player.stop()
    assert again.inputs == lab.inputs
