"""Connect to a server: find its kind, and check its answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.backend.client import Client
from engine.backend.llama_cpp import LlamaCpp
from engine.backend.server import ServerModel
from engine.checks import at_least_one
from engine.errors import ServerError, SettingError, msg
from engine.model.loading.tokenizer_files import read_tokenizer

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
    listed: int = LISTED,
    tokenizer: PreTrainedTokenizerBase | str | None = None,
) -> ServerModel:
    """Return the model of a server, for use like a local one.

        >>> model = connect("http://127.0.0.1:8080")
        >>> Decoder(model, "Once upon a time").step().text

    The server's answers are checked: its values must be log-probabilities before any sampler, and
    it must list every token of its vocabulary when asked for all.

    Args:
        address: address of the server.
        kind: ``llama.cpp``, or ``auto`` to detect it.
        key: key that the server asks for; it never appears in a message, trace or log.
        listed: most tokens to list per step; of all others, only the total probability is known.
        tokenizer: the model's tokenizer, or the folder of a copy; None if the server is to encode
            texts.

    Raises:
        SettingError: a value that cannot be used.
        ServerError: the server cannot be reached, is not supported, or fails a check.
        TokenizerError: the tokenizer is not the model's.
    """
    names = ("auto", *KINDS)
    if kind not in names:
        remedy = msg("use one of {names}", ", ".join(names))
        raise SettingError("kind", kind, "is not a kind of server", remedy)
    listed = at_least_one("listed", listed)
    if isinstance(tokenizer, str):
        tokenizer = read_tokenizer(Path(tokenizer).expanduser())
    client = Client(address, key=key)
    try:
        for name, dialect in KINDS.items():
            if kind in (name, "auto") and dialect.is_at(client):
                return ServerModel(dialect(client), listed, tokenizer, source=client.address)
        raise ServerError(
            "{server} is not a supported server; give the address of one of these: {kinds}.",
            (client.address, ", ".join(KINDS)),
        )
    except BaseException:
        client.close()
        raise
