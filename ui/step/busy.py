"""What takes long on the step page: what is said while it is done, and where it was cancelled."""

from __future__ import annotations

from ui.server.live import WORKING
from ui.words.labels import tokens_text

READING = "Reading the prompt"
_DOING = {
    "start": READING,
    "step": "Generating the next token",
    "run": "Generating tokens",
    "propose": "Computing the scores of the next token",
    "inspect": "Computing the scores of this step",
    "row": "Computing the scores of this step",
    "reroll": "Drawing this token again",
    "force": "Appending the token",
    "branch": "Showing the other branch",
    "reopen": "Generating your text again",
    "open": "Opening the trace",
    "admit": "Looking for the smallest change",
    "find": "Searching the vocabulary",
    "tokenize": "Splitting the text into tokens",
    "snippets": "Writing the settings as code",
    "trace": "Writing the file",
}
_NEEDS_PROMPT = ("step", "run", "propose", "inspect", "row", "force", "admit", "find")

SCORES = "Cancelled: the next token has no scores yet; press Step to go on."
PROMPT = "Cancelled: the prompt was not read; press Step to read it."
QUESTION = "Cancelled before the answer was found; nothing has changed."
_CANCELLED = {
    "start": (
        "Cancelled: the prompt was not read. It is still in the box, and the text on screen stays."
    ),
    "propose": "Cancelled: the next token has no scores yet; the text on screen stays.",
    "reroll": "Cancelled: no token was drawn again; the text on screen stays.",
    "force": "Cancelled: the token was not appended; the text on screen stays.",
    "open": "Cancelled: the trace was not opened; the text on screen stays.",
    "reopen": ("Cancelled: your earlier text is still in the list, and the text on screen stays."),
}


def doing(kind: str, *, is_empty: bool) -> str:
    """What an event does, in words.

    Args:
        kind: of the event.
        is_empty: whether the text has no token yet, so that its prompt may not be read.
    """
    if is_empty and kind in _NEEDS_PROMPT:
        return READING
    return _DOING.get(kind, WORKING)


def cancelled(kind: str, new_tokens: int) -> str:
    """What holds after an event that was cancelled, in one or two sentences.

    Args:
        kind: of the event.
        new_tokens: how many it had appended by then.
    """
    if kind in _CANCELLED:
        return _CANCELLED[kind]
    if not new_tokens:
        return "Cancelled: no token was added; the text on screen stays."
    verb = "stays" if new_tokens == 1 else "stay"
    return f"Cancelled after {tokens_text(new_tokens)}, which {verb}."
