"""Messages for slow work on the step page: while it runs, and after it was cancelled."""

from __future__ import annotations

from ui.server.websocket import WORKING
from ui.words.language import marked, say, say_counted

READING = marked("Reading the prompt")
_DOING = {
    "start": READING,
    "step": marked("Generating the next token"),
    "run": marked("Generating tokens"),
    "propose": marked("Computing the scores of the next token"),
    "inspect": marked("Computing the scores of this step"),
    "row": marked("Computing the scores of this step"),
    "reroll": marked("Drawing this token again"),
    "force": marked("Appending the token"),
    "edit": marked("Reading the edited text"),
    "branch": marked("Showing the other branch"),
    "reopen": marked("Generating your text again"),
    "open": marked("Opening the trace"),
    "admit": marked("Looking for a change that admits it"),
    "find": marked("Searching the vocabulary"),
    "tokenize": marked("Splitting the text into tokens"),
    "snippets": marked("Writing the settings as code"),
    "trace": marked("Writing the file"),
}
_NEEDS_PROMPT = ("step", "run", "propose", "inspect", "row", "force", "admit", "find")

SCORES = marked("Cancelled: the next token has no scores yet; press Step to continue.")
PROMPT = marked("Cancelled: the prompt was not read; press Step to read it.")
QUESTION = marked("Cancelled before the answer was found; nothing has changed.")
_CANCELLED = {
    "start": marked(
        "Cancelled: the prompt was not read. It is still in the box, and the text on screen stays."
    ),
    "propose": marked("Cancelled: the next token has no scores yet; the text on screen stays."),
    "reroll": marked("Cancelled: no token was drawn again; the text on screen stays."),
    "force": marked("Cancelled: the token was not appended; the text on screen stays."),
    "edit": marked("Cancelled: the edited text was not read; the text on screen stays."),
    "open": marked("Cancelled: the trace was not opened; the text on screen stays."),
    "reopen": marked(
        "Cancelled: your earlier text is still in the list, and the text on screen stays."
    ),
}


def doing(kind: str, *, is_empty: bool) -> str:
    """Describe in words what an event is doing.

    Args:
        kind: the kind of the event.
        is_empty: whether the text has no token yet, so that its prompt may not be read.
    """
    if is_empty and kind in _NEEDS_PROMPT:
        return say(READING)
    return say(_DOING.get(kind, WORKING))


def cancelled(kind: str, new_tokens: int) -> str:
    """Describe the state after an event was cancelled, in one or two sentences.

    Args:
        kind: the kind of the event.
        new_tokens: the number of tokens that it had appended.
    """
    if kind in _CANCELLED:
        return say(_CANCELLED[kind])
    if not new_tokens:
        return say("Cancelled: no token was added; the text on screen stays.")
    return say_counted(
        new_tokens,
        "Cancelled after {count} token, which stays.",
        "Cancelled after {count} tokens, which stay.",
    )
