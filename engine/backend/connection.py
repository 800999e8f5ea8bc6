"""Connect to a server by its address: which kind it is, and what it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.backend.client import Client
from engine.backend.llama_cpp import LlamaCpp
from engine.backend.server import ServerModel
from engine.errors import ServerError, SettingError, msg

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

KINDS = {LlamaCpp.kind: LlamaCpp}
# Tokens per step: 88 kB of JSON, where a whole row of 150,000 tokens takes 13 MB.
LISTED = 1_000


def connect(
    address: str,
    kind: str = "auto",
    *,
    key: str | None = None,
    listed: int | None = LISTED,
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> ServerModel:
    """Return the model of a server, for use like a local one.

        >>> model = connect("http://127.0.0.1:8080")
        >>> Decoder(model, "Once upon a time").step().text

    The connection is checked: the values must be log-probabilities before any sampler, and every
    token must have bytes.

    Args:
        address: address of the server.
        kind: ``llama.cpp``, or ``auto`` to find out.
        key: key that the server asks for; it is in no message, trace or log.
        listed: most tokens to list per step, with the total probability of all others; None for
            the whole vocabulary.
        tokenizer: the model's tokenizer, if there is a copy of it here; otherwise the server
            encodes texts.

    Raises:
        SettingError: a value that cannot be used.
        ServerError: the server cannot be reached, or is of no known kind.
        TokenizerError: the tokenizer is not the model's.
    """
    names = ("auto", *KINDS)
    if kind not in names:
        remedy = msg("use one of {names}", ", ".join(names))
        raise SettingError("kind", kind, "is not a kind of server", remedy)
    if listed is not None and (isinstance(listed, bool) or listed < 1):
        remedy = msg("use a positive whole number, or None for the whole vocabulary")
        raise SettingError("listed", listed, "must be at least 1", remedy)
    client = Client(address, key=key)
    found = next((each for name, each in KINDS.items() if kind in (name, "auto")), None)
    if found is None or not found.is_at(client):
        raise ServerError(
            "{server} is no server of a known kind; give the address of one of {kinds}.",
            (client.address, ", ".join(KINDS)),
        )
    return ServerModel(found(client), listed, tokenizer)
