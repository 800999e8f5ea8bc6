"""Prompts worth a look: each shows one thing about how tokens are chosen.

What is said of them was measured on the bundled model, and the tests measure it again. The first
one is what a new visitor sees, so it begins with a real choice among tokens that read well.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from engine.guidance import OFF
from engine.sampling import STAGES
from ui.texts.settings import FIRST
from ui.texts.texts import Contrastive

# An example is shown as it was measured: sliders of a new page that it does not name do nothing.
NEUTRAL = {name: STAGES[name].off for name in FIRST}


@dataclass(frozen=True)
class Example:
    """A prompt and what it shows.

    Attributes:
        name: what it shows, in a few words.
        prompt: the text to go on from.
        look_at: one sentence on where to look.
        settings: sliders to begin with, where they differ from `NEUTRAL` or are no part of it.
        negative_prompt: what guidance leads away from; None without guidance.
        guidance_scale: how strongly, where there is a negative prompt.
        strategy: k and alpha of contrastive search; None for sampling.
    """

    name: str
    prompt: str
    look_at: str
    settings: dict[str, float] = field(default_factory=dict)
    negative_prompt: str | None = None
    guidance_scale: float = OFF
    strategy: Contrastive | None = None

    def to_dict(self) -> dict[str, object]:
        """For the page: the same fields, with all sliders and their order."""
        values = NEUTRAL | self.settings
        return {
            "name": self.name,
            "prompt": self.prompt,
            "look_at": self.look_at,
            "settings": {"order": [name for name in STAGES if name in values], **values},
            "negative_prompt": self.negative_prompt,
            "guidance_scale": self.guidance_scale,
            "strategy": asdict(self.strategy) if self.strategy else None,
        }


EXAMPLES = (
    Example(
        "Open story",
        "Once upon a time, there was a little",
        "Girl and boy share half of the probability and many others the rest: which story this "
        "becomes hangs on one draw, so press Re-roll or force another token.",
    ),
    Example(
        "Confident fact",
        "The capital of France is",
        "One token holds nearly everything: no seed changes it, and it takes a high temperature "
        "to make anything else likely.",
    ),
    Example(
        "Fork in the road",
        "The cat sat on the",
        "No token reaches even a quarter and the entropy is high: see how many tokens each of "
        "top-k, top-p and min-p would keep here.",
    ),
    Example(
        "Certain, then torn",
        "Once upon a time",
        "Top-p 0.9 keeps one or two tokens while the model is sure, and dozens where it is torn; "
        "top-k would keep the same number everywhere.",
        {"top_p": 0.9},
    ),
    Example(
        "Loop",
        "He said that",
        "Temperature 0 takes the likeliest token every time and soon repeats itself: raise the "
        "repetition penalty to 1.3 and run it again.",
        {"repetition_penalty": 1.0, "temperature": 0.0},
    ),
    Example(
        "Too hot, and a remedy",
        "Once upon a time, there was a",
        "At temperature 1.8 thousands of tokens become likely, yet min-p keeps only those near "
        "the best one: set it to 0 and see the text fall apart.",
        {"temperature": 1.8, "min_p": 0.1},
    ),
    Example(
        "Guidance, to the sea",
        "In the sea lived a little",
        "Led away from what any story has there, the fish of the sea overtakes boy and girl: drag "
        "the guidance scale to 1 and see them come back.",
        negative_prompt="There was a little",
        guidance_scale=1.5,
    ),
    Example(
        "Contrastive, no loop",
        "The king had",
        "Greedy decoding says the same words here again and again: this takes, of five likely "
        "tokens, one that is unlike the text so far.",
        strategy=Contrastive(top_k=5, penalty_alpha=0.4),
    ),
    Example(
        "List",
        "Here is a list of five fruits:\n\n1.",
        "The line break, the next number and its full stop are almost certain, and each fruit is a "
        "choice among many.",
    ),
    Example(
        "Dialogue",
        "User: Hello!\nAssistant:",
        "The model writes both sides: at the end of a line it names the next speaker with hardly a "
        "doubt, since a dialogue is a text like any other.",
        {"temperature": 0.7, "top_p": 0.9},
    ),
    Example(
        "JSON",
        '{"name": "',
        "Quotation marks, colons and most keys are almost certain while the values are open: one "
        "forced token in the wrong place and it is no JSON any more.",
        {"temperature": 0.7},
    ),
    Example(
        "Rare word",
        "A rhinoceros is a",
        "The rare word is cut into several tokens that a small model has seldom met together: it "
        "goes on fluently, and wrongly.",
    ),
    Example(
        "Digits",
        "3 + 4 =",
        "Every digit is a token of its own and the likely tokens are all digits, but the right one "
        "need not come first: the form is learned, the sum is not.",
    ),
    Example(
        "Emoji and bytes",
        "The 👩\u200d🚀 said",
        "One picture is three characters, one of them invisible, and the tokens are their bytes: "
        "most of them are no whole character.",
    ),
)
