"""The native API of llama.cpp's server (`llama-server`): token ids in, ids and bytes out.

`/completion` with `n_probs` lists the likeliest tokens by their log-probabilities before any
sampler, in ids and bytes. Verified with build 11549.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec
import numpy as np

from engine.backend.client import Client
from engine.backend.dialect import Description, Listed, base_name, model_changed, no_probabilities
from engine.backend.metrics import read_metrics
from engine.backend.own_sampling import OwnDraw
from engine.errors import ServerError

_Id = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Name = Annotated[str, msgspec.Meta(max_length=1_000)]
# The server samples a token that is not used. If that token ends inside a character, the answer
# has no probabilities, so a bias makes it a whole one; listed values come before the bias.
_BIAS = 1e4
_WHOLE = "A"
# The server writes a probability of 0 as the lowest float.
_IMPOSSIBLE = -1e30


class _Scored(msgspec.Struct, gc=False):
    id: _Id
    logprob: float | None


class _Spelled(_Scored, gc=False):
    bytes: list[_Byte] = []


_Token = TypeVar("_Token", bound=_Scored)


class _Position(msgspec.Struct, Generic[_Token]):
    top_logprobs: list[_Token]


class _Timings(msgspec.Struct):
    prompt_n: _Count
    prompt_ms: float
    predicted_ms: float
    cache_n: _Count = 0


class _Completion(msgspec.Struct, Generic[_Token]):
    timings: _Timings
    model: _Name = ""
    completion_probabilities: list[_Position[_Token]] | None = None


class _Probability(msgspec.Struct):
    id: _Id
    prob: float


class _Final(msgspec.Struct):
    top_probs: list[_Probability] = []


class _Drafts(msgspec.Struct):
    draft_n: _Count | None = None
    draft_n_accepted: _Count | None = None


class _Draw(msgspec.Struct):
    tokens: list[_Id]
    generation_settings: dict[str, Any]
    timings: _Drafts
    model: _Name = ""
    completion_probabilities: list[_Final] | None = None


class _Defaults(msgspec.Struct):
    n_ctx: _Count


class _Props(msgspec.Struct):
    default_generation_settings: _Defaults
    total_slots: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    build_info: _Name = ""
    model_alias: _Name = ""
    model_ftype: _Name = ""
    eos_token: _Name = ""


class _Piece(msgspec.Struct):
    id: _Id


class _Tokens(msgspec.Struct):
    tokens: list[_Piece]


class _Meta(msgspec.Struct):
    n_vocab: Annotated[int, msgspec.Meta(ge=2, le=2_000_000)]


class _Model(msgspec.Struct):
    meta: _Meta


class _Models(msgspec.Struct):
    data: list[_Model]


class _Text(msgspec.Struct):
    content: str


class LlamaCpp:
    """A llama.cpp server.

    Args:
        client: requests to it.

    Raises:
        ServerError: it cannot be reached, or is not a llama.cpp server.
    """

    kind = "llama.cpp"
    gives_bytes = True
    tempering: ClassVar = {"temperature": 2.0, "top_k": 3, "samplers": ["top_k", "temperature"]}

    def __init__(self, client: Client) -> None:
        self._client = client
        self._answering: str | None = None  # the model that the first answer named
        whole = self.encode(_WHOLE)
        if not whole:
            raise ServerError(
                "{server} has no tokenizer; load a model that has one.", client.address
            )
        self._safe_id = whole[-1]

    def describe(self) -> Description:
        """Return the server's account of itself and its model."""
        props = self._client.get("/props", _Props).value
        models = self._client.get("/v1/models", _Models).value.data
        if not models:
            raise ServerError("{server} has no model; load one.", self._client.address)
        end = self.encode(props.eos_token) if props.eos_token else []
        return Description(
            name=base_name(props.model_alias) or self.kind,
            version=props.build_info,
            dtype=props.model_ftype,
            vocab_size=models[0].meta.n_vocab,
            context_length=props.default_generation_settings.n_ctx,
            eos_ids=tuple(end) if len(end) == 1 else (),
            slots=props.total_slots,
        )

    def encode(self, text: str, *, adds_special: bool = False) -> list[int]:
        """Return the token ids of a text by the server's tokenizer.

        Args:
            text: the text; control tokens in it are read as such.
            adds_special: whether to add those that begin a text.
        """
        asked = {"content": text, "add_special": adds_special, "parse_special": True}
        asked["with_pieces"] = True
        return [each.id for each in self._client.post("/tokenize", asked, _Tokens).value.tokens]

    def name_of(self, token_id: int) -> str:
        """Return the text of a token, or a control token's name."""
        return self._client.post("/detokenize", {"tokens": [token_id]}, _Text).value.content

    def next_scores(
        self,
        token_ids: Sequence[int] | np.ndarray,
        count: int,
        *,
        session: str = "",
        reuses_prefix: bool = True,
        settings: dict[str, Any] | None = None,
        spells: bool = False,
    ) -> Listed:
        """Return the likeliest next tokens of a text.

        Args:
            token_ids: (tokens,) the whole text.
            count: number of tokens to list.
            session: sent to a router, so that the text stays on one server.
            reuses_prefix: whether the server may use what it has cached of the text.
            settings: further settings of the server's own sampling, which change no listed value.
            spells: whether to decode the bytes of the tokens, too, which takes twice the time.
        """
        asked = {
            "prompt": [int(each) for each in token_ids],
            "n_predict": 1,
            "n_probs": count,
            "samplers": [],
            "temperature": -1,
            "logit_bias": [[self._safe_id, _BIAS]],
            "cache_prompt": reuses_prefix,
            **(settings or {}),
        }
        kind = _Completion[_Spelled if spells else _Scored]
        answer = self._client.post("/completion", asked, kind, session=session)
        self._check_model(answer.value.model)
        places = answer.value.completion_probabilities
        if not places:
            raise no_probabilities(self._client.address)
        top = places[0].top_logprobs
        timings = answer.value.timings
        return Listed(
            ids=np.array([each.id for each in top], np.int64),
            logprobs=_logprobs(top),
            tokens=[bytes(each.bytes) for each in top] if spells else None,
            read=timings.prompt_n,
            reused=timings.cache_n,
            server_ms=timings.prompt_ms + timings.predicted_ms,
            ms=answer.ms,
        )

    def draw(
        self,
        token_ids: Sequence[int] | np.ndarray,
        settings: Mapping[str, Any],
        *,
        length: int = 1,
        final: int = 0,
    ) -> OwnDraw:
        """Return tokens that the server draws (see `engine.backend.own_sampling`).

        Final probabilities are None if the drawn token ends inside a character.
        """
        asked = {
            "prompt": [int(each) for each in token_ids],
            "n_predict": length,
            "return_tokens": True,
            **settings,
        }
        if final:
            asked |= {"n_probs": final, "post_sampling_probs": True}
        answer = self._client.post("/completion", asked, _Draw).value
        self._check_model(answer.model)
        told, places = answer.generation_settings, answer.completion_probabilities
        if isinstance(biases := told.get("logit_bias"), list):
            pairs = (each for each in biases if isinstance(each, dict))
            told["logit_bias"] = [[each.get("token"), each.get("bias")] for each in pairs]
        top = places[0].top_probs if places else None
        return OwnDraw(
            token_ids=tuple(answer.tokens),
            settings=told,
            ids=None if top is None else np.array([each.id for each in top], np.int64),
            probabilities=None if top is None else np.array([each.prob for each in top]),
            drafted=answer.timings.draft_n,
            accepted=answer.timings.draft_n_accepted,
        )

    def _check_model(self, name: str) -> None:
        """Raise `ModelChangedError` if an answer names another model than the first one did."""
        answering = base_name(name)  # workers behind a router may have it elsewhere
        self._answering = answering if self._answering is None else self._answering
        if answering != self._answering:
            raise model_changed(self._client.address, answering)

    def metrics(self) -> dict[str, float]:
        """Return the server's metrics (see `engine.backend.metrics`)."""
        return read_metrics(self._client)


def _logprobs(top: Sequence[_Scored]) -> np.ndarray:
    values = np.array([each.logprob for each in top], np.float64)  # null becomes NaN
    return np.where(values > _IMPOSSIBLE, values, -np.inf)
