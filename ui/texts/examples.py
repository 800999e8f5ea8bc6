"""Example prompts, each of which shows one aspect of how tokens are chosen.

The statements about them were measured on the bundled model, and the tests measure them again. A
new visitor sees the first one, so its first step is a real choice among plausible tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from engine.decoding import UNGUIDED
from engine.sampling import STAGES
from ui.texts.settings import FIRST
from ui.texts.texts import Contrastive
from ui.words.language import marked, say

# An example is shown as it was measured: sliders that it does not set have no effect.
NEUTRAL = {name: STAGES[name].off for name in FIRST}


@dataclass(frozen=True)
class Example:
    """An example prompt, its settings, and the point that it makes.

    Attributes:
        name: the point, in a few words.
        prompt: the text to continue from.
        look_at: one or two sentences on what to look at.
        settings: initial slider values that differ from `NEUTRAL` or are not in it.
        negative_prompt: the prompt that guidance steers away from; None without guidance.
        guidance_scale: the strength of guidance, if there is a negative prompt.
        strategy: k and alpha of contrastive search; None for sampling.
    """

    name: str
    prompt: str
    look_at: str
    settings: dict[str, float] = field(default_factory=dict)
    negative_prompt: str | None = None
    guidance_scale: float = UNGUIDED
    strategy: Contrastive | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the fields for the page, in its language, with all sliders in order."""
        values = NEUTRAL | self.settings
        return {
            "name": say(self.name),
            "prompt": self.prompt,
            "look_at": say(self.look_at),
            "settings": {"order": [name for name in STAGES if name in values], **values},
            "negative_prompt": self.negative_prompt,
            "guidance_scale": self.guidance_scale,
            "strategy": asdict(self.strategy) if self.strategy else None,
        }


EXAMPLES = (
    Example(
        marked("Open story"),
        "Once upon a time, there was a little",
        marked(
            "Girl and boy share half of the probability, many tokens share the rest. One draw "
            "decides the story: press Step, then Re-roll."
        ),
    ),
    Example(
        marked("Certain fact"),
        "The capital of France is",
        marked(
            "One token has nearly all of the probability: nearly every seed draws it. Raise the "
            "temperature until other tokens become likely."
        ),
    ),
    Example(
        marked("Many likely tokens"),
        "The boy ran to the",
        marked(
            "No token reaches a tenth, so the uncertainty is high. Compare how many tokens "
            "top-k, top-p and min-p keep here."
        ),
    ),
    Example(
        marked("Certain, then uncertain"),
        "Once upon a",
        marked(
            "Top-p 0.9 keeps one or two tokens when the model is certain, and dozens when it "
            "is not. Top-k would keep the same number everywhere."
        ),
        {"top_p": 0.9},
    ),
    Example(
        marked("Greedy loop"),
        "They think that",
        marked(
            "Temperature 0 takes the likeliest token every time and soon repeats itself. Raise "
            "the repetition penalty to 1.3 and run it again."
        ),
        {"repetition_penalty": 1.0, "temperature": 0.0},
    ),
    Example(
        marked("High T with min-p"),
        "Once upon a time, there was a",
        marked(
            "At temperature 2.5 thousands of tokens become likely, but min-p keeps only those "
            "near the likeliest. Set min-p to 0 and watch the text fall apart."
        ),
        {"temperature": 2.5, "min_p": 0.1},
    ),
    Example(
        marked("Guidance"),
        "In the forest lived a little",
        marked(
            "Guidance leads away from what any story has here, so rabbit overtakes boy and "
            "girl. Drag the guidance scale to 1 and they come back."
        ),
        negative_prompt="There was a little",
        guidance_scale=3.0,
    ),
    Example(
        marked("Contrastive search"),
        "They think that they are dreaming, but",
        marked(
            "Greedy decoding repeats the same words here. Of the five likeliest tokens, this "
            "search takes one that is unlike the text so far."
        ),
        strategy=Contrastive(top_k=5, penalty_alpha=0.4),
    ),
    Example(
        marked("List"),
        "Here is a list of five fruits:\n\n1.",
        marked(
            "The line break, the next number and its full stop are almost certain. Each fruit "
            "is a choice among many tokens."
        ),
    ),
    Example(
        marked("Dialogue"),
        "User: Hello!\nAssistant:",
        marked(
            "The model writes both sides of the dialogue. At the end"
            " of a line the next speaker's name is almost certain."
        ),
        {"temperature": 0.7, "top_p": 0.9},
    ),
    Example(
        marked("JSON"),
        '{"name": "',
        marked(
            "Quotation marks, colons and most keys are almost certain, the values are open. "
            "Force one wrong token and it is no longer JSON."
        ),
        {"temperature": 0.7},
    ),
    Example(
        marked("Rare word"),
        "A rhinoceros is a",
        marked(
            "The rare word is several tokens that a small model has seldom read together. It "
            "continues fluently, and wrongly."
        ),
    ),
    Example(
        marked("Digits"),
        "3 + 4 =",
        marked(
            "Every digit is a token, and the likely tokens are all digits. The right one need "
            "not come first: the form is learned, the sum is not."
        ),
    ),
    Example(
        marked("Emoji and bytes"),
        "The 👩\u200d🚀 said",
        marked(
            "One picture is three characters, one of them invisible. The tokens are their "
            "bytes, and most are not a whole character."
        ),
    ),
)
