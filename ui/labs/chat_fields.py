"""Fields of pages whose prompts may go through a chat template: switch, system prompt, turns."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.values import ChatMessage
from ui.labs import fields
from ui.shell.fields import bound
from ui.texts.limits import LONGEST_PROMPT
from ui.words.glossary import meaning
from ui.words.language import say, say_counted


def chat_fields(lab: Any) -> None:
    """Draw the switch of the chat template and, in chat, what comes before the prompt.

    Args:
        lab: a state whose inputs have `chat` and `before`; nothing is drawn if its model has no
            template.
    """
    if not lab.model.vocabulary.has_chat_template:
        return
    fields.switch(lab, "chat", say("Chat template"), help=meaning("chat template"))
    if not lab.inputs.chat:
        return
    before = lab.inputs.before
    turns = tuple(each for each in before if each["role"] != "system")
    system = "".join(each["content"] for each in before if each["role"] == "system")

    def take_system(typed: str) -> None:
        first = (ChatMessage(role="system", content=typed),) if typed else ()
        lab.change(before=(*first, *turns))

    st.text_input(
        say("System prompt"),
        system,
        width=300,
        max_chars=LONGEST_PROMPT,
        placeholder=say("the template’s own, if it has one"),
        **bound(f"{lab.name}_system", system, take_system),
    )
    if turns:
        st.button(
            say_counted(
                len(turns), "Drop {count} earlier message", "Drop {count} earlier messages"
            ),
            key=f"{lab.name}_drop_turns",
            help="\n\n".join(f"{each['role']}: {each['content']}" for each in turns)[:1000],
            on_click=lab.change,
            kwargs={"before": before[: len(before) - len(turns)]},
        )
