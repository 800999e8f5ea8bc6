"""Connect to a server: find its kind, and check its answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.backend.client import SESSION_HEADER, Client
from engine.backend.llama_cpp import LlamaCpp
from engine.backend.openai import Models, OpenAI, Served
from engine.backend.server_model import ServerModel
from engine.backend.vllm import Vllm
from engine.checks import at_least_one
from engine.errors import ServerError, SettingError, TokenizerError, msg
from engine.model.loading.tokenizer_files import read_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

KINDS = {each.kind: each for each in (LlamaCpp, Vllm, OpenAI)}
# The owner of its models that a server names; of any other, OpenAI's API is expected.
_OWNERS = {"llamacpp": LlamaCpp.kind, "vllm": Vllm.kind}
_SHOWN, _LONGEST = 10, 80  # names of models, and their characters
# Tokens per step: 88 kB of JSON, where a whole row of 150,000 tokens takes 13 MB.
LISTED = 1_000


def connect(
    address: str,
    kind: str = "auto",
    *,
    key: str | None = None,
    model: str | None = None,
    listed: int = LISTED,
    tokenizer: PreTrainedTokenizerBase | str | None = None,
    session_header: str = SESSION_HEADER,
) -> ServerModel:
    """Return the model of a server, for use like a local one.

        >>> model = connect("http://127.0.0.1:8080")
        >>> Decoder(model, "Once upon a time").step().text

    The server's answers are checked: its values must be log-probabilities before any sampler. A
    llama.cpp server must list every token of its vocabulary when asked for all; with any other,
    the tokenizer must be the model's.

    Args:
        address: address of the server, with or without ``/v1`` at its end.
        kind: ``llama.cpp``, ``vllm``, ``openai`` for any other server with OpenAI's API, or
            ``auto`` to detect it.
        key: key that the server asks for; it never appears in a message, trace or log.
        model: name of the model, if the server has several.
        listed: most tokens to list per step; of all others, only the total probability is known.
        tokenizer: the model's tokenizer, or the folder of a copy. A llama.cpp server encodes texts
            without one.
        session_header: name of the header by which a router keeps a text on one server.

    Raises:
        SettingError: a value that cannot be used.
        ServerError: the server cannot be reached, is not supported, or fails a check.
        TokenizerError: the tokenizer is missing, or is not the model's.
    """
    names = ("auto", *KINDS)
    if kind not in names:
        remedy = msg("use one of {names}", ", ".join(names))
        raise SettingError("kind", kind, "is not a kind of server", remedy)
    listed = at_least_one("listed", listed)
    if isinstance(tokenizer, str):
        tokenizer = read_tokenizer(Path(tokenizer).expanduser())
    client = Client(
        address.removesuffix("/").removesuffix("/v1"), key=key, session_header=session_header
    )
    source = client.address if model is None else f"{client.address}#{model}"
    try:
        served = _served(client, model)
        found = _OWNERS.get(served.owned_by)
        if kind == "auto":
            kind = found or OpenAI.kind
        elif kind != OpenAI.kind and found not in (None, kind):
            raise ServerError(
                "{server} is a {found} server, not {kind}; connect to it as that kind.",
                (client.address, found, kind),
            )
        if kind == LlamaCpp.kind:
            return ServerModel(LlamaCpp(client), listed, tokenizer, source=source)
        if tokenizer is None:
            raise TokenizerError(
                "{server} does not give the bytes of its tokens; give the folder of the model's "
                "tokenizer.",
                client.address,
            )
        dialect = KINDS[kind](client, served, tokenizer, listed)
        return ServerModel(dialect, listed, tokenizer, source=source)
    except BaseException:
        client.close()
        raise


def _served(client: Client, model: str | None) -> Served:
    """Return the model of a server that has this name, or its only one."""
    models = client.get("/v1/models", Models).value.data
    if models is None:
        raise ServerError(
            "{server} is not a supported server; give the address of one of these: {kinds}.",
            (client.address, ", ".join(KINDS)),
        )
    if not models:
        raise ServerError("{server} has no model; load one.", client.address)
    named = [each for each in models if model in (None, each.id)]
    if len(named) == 1:
        return named[0]
    problem = msg("must be one of those on the server")
    remedy = msg("use one of {names}", ", ".join(each.id[:_LONGEST] for each in models[:_SHOWN]))
    raise SettingError("model", model, problem, remedy)
