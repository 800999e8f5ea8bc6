"""The capabilities of models, and checks that a model has those that a feature needs."""

from __future__ import annotations

from engine.backend.base import Backend
from engine.errors import CapabilityError, SettingError, msg
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Temperature, TopK

# Abilities that a back end may have, each as a refusal names it.
CAPABILITIES = {
    "full_row": msg("the scores of all tokens"),
    "row_on_demand": msg("the scores of all tokens in a single step"),
    "scores_by_id": msg("the scores of named tokens"),
    "logits": msg("logits"),
    "hidden": msg("hidden states"),
    "all_positions": msg("the scores after every token of a text"),
    "batch": msg("several texts in one pass"),
    "cache_bytes": msg("the size of its cache"),
    "weights": msg("the model's weights"),
}


def limits(model: Backend) -> tuple[str, ...]:
    """Return sentences for the user on what a model does not reveal about its steps."""
    sentences = []
    if model.listed is not None:
        sentences.append(
            msg(
                "{name} lists the {listed:,} likeliest of its {vocab_size:,} tokens at every "
                "step, so top-k is at most {most:,}, and every draw is exact. Of all the "
                "others only the total probability is known; it is shown as if they shared "
                "it evenly.",
                (model.name, model.listed, model.vocab_size, model.listed),
            )
        )
    elif "weights" not in model.capabilities:
        sentences.append(
            msg(
                "{name} gives the scores of all {vocab_size:,} tokens at every step.",
                (model.name, model.vocab_size),
            )
        )
    if "logits" not in model.capabilities:
        sentences.append(
            msg(
                "It gives log-probabilities: logits minus a constant that changes from step "
                "to step."
            )
        )
    if "cache_bytes" not in model.capabilities:
        sentences.append(msg("It does not report the size of its cache."))
    return tuple(sentences)


def require(model: Backend, what: str, *needed: str) -> None:
    """Raise `CapabilityError` if a model lacks a needed capability.

    Args:
        what: the feature that needs it, as the beginning of a sentence.
        needed: names of `CAPABILITIES`.
    """
    missing = next((each for each in needed if each not in model.capabilities), None)
    if missing is not None:
        raise CapabilityError(
            "{what} needs {needed}, which {name} does not provide; choose another model.",
            (what, CAPABILITIES[missing], model.name),
        )


def fitted(
    settings: SamplingSettings, model: Backend, *, adds_top_k: bool = True
) -> SamplingSettings:
    """Return settings whose result is exact on a back end that lists only some tokens.

    Only the total probability of the unlisted tokens is known. So only a temperature may come
    before the top-k, and its k may be at most the number of listed tokens. Then it keeps the same
    tokens as if all scores were known (except for ties with the last listed one), and later stages
    use only those.

    Args:
        settings: the settings.
        model: the model.
        adds_top_k: whether to insert a missing top-k; otherwise it is refused.

    Raises:
        SettingError: the settings do not have this form.
        CapabilityError: a sampler needs logits, or parity mode the model's weights.
    """
    if settings.parity:
        require(model, msg("Parity mode"), "weights")
    for stage in settings.chain:
        require(model, stage.info.label, *stage.needs)
    if model.listed is None:
        return settings
    chain, most = list(settings.chain), model.listed
    place = next((i for i, stage in enumerate(chain) if _decides(stage)), None)
    if place is None:
        if not adds_top_k:
            raise _refused("top_k", 0, model)
        place = next((i for i, each in enumerate(chain) if not _scales(each)), len(chain))
        chain.insert(place, TopK(most))
        settings = settings.replace(chain=chain)
    for stage in chain[:place]:
        if not _scales(stage):
            problem = msg(
                "comes before top-k, but {name} lists only {most:,} tokens", (model.name, most)
            )
            remedy = msg("put it after top-k, or switch it off")
            raise SettingError(stage.setting, stage.value, problem, remedy)
    if isinstance(chain[place], TopK) and chain[place].k > most:
        raise _refused("top_k", chain[place].k, model)
    return settings


def _refused(setting: str, value: object, model: Backend) -> SettingError:
    problem = msg(
        "must be at most the {most:,} tokens that {name} lists", (model.listed, model.name)
    )
    return SettingError(setting, value, problem, msg("use 1 to {most:,}", model.listed))


def _scales(stage: object) -> bool:
    return isinstance(stage, Temperature) and not stage.is_greedy


def _decides(stage: object) -> bool:
    return isinstance(stage, TopK) or (isinstance(stage, Temperature) and stage.is_greedy)
