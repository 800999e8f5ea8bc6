"""Readings of a sampler: our own, and those of other programs that give different probabilities.

A server that differs from our chain is compared with each reading in turn, so the convention that
a verdict names is one that reproduces the server's figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from engine.backend.server_model import ServerModel
from engine.errors import Message, msg
from engine.sampling import SamplingSettings, shape
from engine.sampling.samplers import (
    Context,
    Dry,
    FrequencyPenalty,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    Xtc,
)
from engine.server_check.text import Text

OURS = Message("")
_MOST_CONSTANTS = 12


def readings(
    model: ServerModel,
    text: Text,
    row: np.ndarray,
    chain: Sequence[Stage],
    theirs: Callable[[int], float] | None = None,
    breakers: Sequence[str] = (),
) -> Iterator[tuple[Message, np.ndarray]]:
    """Yield a convention and its final probabilities, (vocab,), our own first.

    Args:
        model: the server.
        text: the text.
        row: (vocab,) raw log-probabilities.
        chain: the samplers.
        theirs: the server's final probability of a token, for samplers that need logits.
        breakers: the strings that its DRY does not look beyond.
    """

    def ours(
        chain: Sequence[Stage] = chain, context: Context | None = None, row: np.ndarray = row
    ) -> np.ndarray:
        return shape(row, SamplingSettings(chain=list(chain)), context or own).probs

    own = text.context(model)
    penalty = next((each for each in chain if isinstance(each, RepetitionPenalty)), None)
    if penalty is None or theirs is None:
        yield OURS, ours()
    else:
        for constant in _constants(text, row, penalty.penalty, theirs):
            said = msg("its logits are the listed values plus {constant:.2f}", constant)
            yield said, ours(row=row + np.float32(constant))
    if any(isinstance(each, PresencePenalty | FrequencyPenalty) for each in chain):
        yield msg("it counts the prompt's tokens too"), ours(context=text.context(model, 0))
    if any(isinstance(each, Dry) for each in chain) and breakers:
        ids = {model.dialect.encode(each)[-1] for each in breakers}
        changed = [
            replace(each, breakers=tuple(ids)) if isinstance(each, Dry) else each for each in chain
        ]
        said = msg("its repetitions end at {breakers}", " ".join(map(repr, breakers)))
        yield said, ours(changed)
    if any(isinstance(each, Xtc) for each in chain):
        unspared = replace(own, eos_ids=(), line_break_ids=())
        yield msg("it removes the end of the text and line breaks too"), ours(context=unspared)


def _constants(
    text: Text, row: np.ndarray, penalty: float, theirs: Callable[[int], float]
) -> Iterator[float]:
    """Yield candidates for the constant between logits and log-probabilities, likeliest first.

    The penalty divides a positive logit, so what it takes from a token's log-probability gives the
    logit. One constant must explain every token of the text.
    """
    seen = np.unique(text.token_ids)
    other = next(int(each) for each in np.argsort(-row, kind="stable") if each not in seen)
    found = []
    for each in seen.tolist():
        probability = theirs(each)
        if probability <= 0 or not np.isfinite(row[each]):
            continue
        odds = np.log(probability) - np.log(theirs(other))
        moved = odds - (float(row[each]) - float(row[other]))
        for logit in (-moved / (1 - 1 / penalty), moved / (penalty - 1)):
            found.append(logit - float(row[each]))
    # The true constant is found from many tokens.
    support = [sum(abs(one - two) < 0.05 for two in found) for one in found]
    ranked = sorted(zip(support, found, strict=True), reverse=True)
    yield from (constant for _, constant in ranked[:_MOST_CONSTANTS])
