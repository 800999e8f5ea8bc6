"""Texts from the app's own engine, for everything that measures or shows generated text."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text.stopping import EOS


@dataclass(frozen=True)
class Continuation:
    """A prompt and the model's continuation.

    Attributes:
        prompt: the prompt as typed, without an end-of-text token before it.
        seed: seed of the random stream.
        prompt_ids: the prompt's tokens.
        ids: generated tokens, without the end-of-text token.
        text: the generated text.
        ended: whether the model ended the text itself.
    """

    prompt: str
    seed: int
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    text: str
    ended: bool


def continuation(
    model: LanguageModel, prompt: str, settings: SamplingSettings, max_new_tokens: int
) -> Continuation:
    """Continue a prompt up to the end-of-text token, by at most `max_new_tokens` tokens."""
    decoder = Decoder(model, prompt, settings)
    for _ in decoder.run(max_new_tokens):
        pass
    ended = decoder.stop_reason == EOS
    ids = decoder.token_ids[:-1] if ended else decoder.token_ids
    return Continuation(
        prompt, settings.seed, tuple(decoder.prompt_ids), tuple(ids), decoder.text, ended
    )


def continuations(
    model: LanguageModel,
    prompts: Iterable[str],
    settings: SamplingSettings,
    seeds: Iterable[int],
    max_new_tokens: int,
) -> list[Continuation]:
    """Continue every prompt with every seed."""
    seeds = tuple(seeds)
    return [
        continuation(model, prompt, settings.replace(seed=seed), max_new_tokens)
        for prompt in prompts
        for seed in seeds
    ]


# For the measurements of recitation, repetition and acceptance.
STORY_PROMPTS = (
    "Once upon a time",
    "Once upon a time, there was a king who",
    "One day, a little girl named",
    "There was once an old woman who lived in",
    "The little dog ran to the",
    "Tom and his sister went to the park.",
    "The sun was shining and",
    "In a small house by the sea there lived",
    "The fox looked at the rabbit and said,",
    "Mother gave the boy a big red",
    "It was raining, so",
    "The giant was so tall that",
    "Long ago, in a far country, a poor man",
    "The children wanted to build a",
    "At night the little owl",
    "Anna was sad because",
)
OTHER_PROMPTS = (
    "The capital of France is",
    "The sun is",
    "Water is",
    "France is a country in",
    "An elephant is an animal that",
    "The history of the city begins in",
    "Question: What is the opposite of hot?\nAnswer:",
    "User: Hello! How are you?\nAssistant:",
    "Here is a list of five fruits:\n\n",
    "Dear friend,",
)
