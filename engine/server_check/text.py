"""The text that a server is asked to continue, and the rows that it lists for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.backend.dialect import Listed
from engine.backend.own_sampling import DrawsItself
from engine.backend.server_model import ServerModel
from engine.errors import CapabilityError, ServerError, SettingError, msg
from engine.export import parameters_for
from engine.model.forward import Scores
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Context, Stage

MOST_TOKENS = 256  # of a prompt: it is sent some hundred times, twice in a row
MOST_LISTED = 20_000  # tokens of a server's final distribution: about 1 MB


@dataclass(frozen=True)
class Text:
    """A prompt in token ids, of which the last ones count as generated.

    Attributes:
        token_ids: all tokens.
        prompt_length: number of those that count as the prompt.
    """

    token_ids: tuple[int, ...]
    prompt_length: int

    def context(self, model: ServerModel, prompt_length: int | None = None) -> Context:
        """Return everything that stages use in addition to scores."""
        return Context(
            np.array(self.token_ids, np.int64),
            self.prompt_length if prompt_length is None else prompt_length,
            model.eos_ids,
            model.vocabulary.line_break_ids,
        )


def prompt_ids(model: ServerModel, prompt: str) -> list[int]:
    """Return a prompt's tokens; raises `SettingError` if there are more than `MOST_TOKENS`."""
    ids = list(model.vocabulary.encode(prompt))
    if len(ids) > MOST_TOKENS:
        problem = msg("must have at most {most:,} tokens", MOST_TOKENS)
        raise SettingError("prompt", prompt, problem, msg("shorten it"))
    return ids


def said_twice(model: ServerModel, prompt: str) -> Text:
    """Return a prompt followed by itself, so that every penalty finds a repetition.

    The second half counts as generated.
    """
    ids = list(model.vocabulary.encode(f"{prompt}\n{prompt}"))
    half = len(model.vocabulary.encode(f"{prompt}\n"))
    return Text(tuple(ids), max(1, min(half, len(ids) - 1)))


def listed_row(model: ServerModel, text: Text) -> tuple[Listed, np.ndarray]:
    """Return the likeliest tokens, and (vocab,) float32 log-probabilities.

    All tokens are listed if the server can. Otherwise the others share the rest evenly.
    """
    most = model.description.most or model.vocab_size
    listed = model.dialect.next_scores(text.token_ids, min(most, model.vocab_size))
    logprobs = listed.logprobs.astype(np.float32)
    rest = max(0.0, 1.0 - float(np.exp(listed.logprobs).sum()))
    return listed, Scores(listed.ids, logprobs, model.vocab_size, rest).row()


def written(model: ServerModel, stages: Sequence[Stage] = ()) -> dict[str, object]:
    """Return a chain under the server's names.

    Raises:
        CapabilityError: the names are unknown.
    """
    settings = SamplingSettings(chain=list(stages), seed=None)
    found = parameters_for(model.dialect.kind, settings)
    if found is None:
        raise CapabilityError(
            "The names of sampler settings on a server of the kind {kind} are unknown here, so "
            "this was not checked.",
            model.dialect.kind,
        )
    return found


def drawing(model: ServerModel) -> DrawsItself:
    """Return the server as one that draws; raises `CapabilityError` if its API here does not."""
    if not isinstance(model.dialect, DrawsItself):
        raise CapabilityError(
            "{name} is not asked to draw by itself, so this was not checked.", model.name
        )
    return model.dialect


def is_refusal(error: ServerError) -> bool:
    """Return whether a server refused the values of a request, and is otherwise well."""
    status = error.message.values.get("status")
    return isinstance(status, int) and 400 <= status < 500
