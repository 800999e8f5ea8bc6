"""Example prompts, each of which shows one aspect of how tokens are chosen.

`EXAMPLES` are for models that continue a text. The statements about them were measured on the
bundled model, and the tests measure them again. `CHAT_EXAMPLES` are for models with a chat
template; they were measured on SmolLM2 135M Instruct (Q4_1, computed in bfloat16 on a CPU). A new
visitor sees the first one, so its first step is a real choice among plausible tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from engine.decoding import UNGUIDED
from engine.model import BUNDLED, LanguageModel
from engine.sampling import STAGES
from engine.values import ChatMessage
from ui.texts.settings import FIRST
from ui.texts.texts import Beginning, Contrastive
from ui.words.language import language, marked, say

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
        chat: whether the prompt goes through the chat template.
        system: the system prompt; empty for the template's own.
        steps: number of tokens to generate at once, so that the point is on screen.
    """

    name: str
    prompt: str
    look_at: str
    settings: dict[str, float] = field(default_factory=dict)
    negative_prompt: str | None = None
    guidance_scale: float = UNGUIDED
    strategy: Contrastive | None = None
    chat: bool = False
    system: str = ""
    steps: int = 0

    @property
    def beginning(self) -> Beginning:
        """The beginning of its text, without guidance."""
        system = (ChatMessage(role="system", content=self.system),) if self.system else ()
        return Beginning(self.prompt, self.chat, before=system)

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
            "chat": self.chat,
            "before": list(self.beginning.before),
            "steps": self.steps,
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
        marked("Confident and wrong"),
        "Two plus two is",
        marked(
            "One has 96 %: fluent, sure and wrong. A probability says how usual a token is here, "
            "not whether it is true."
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

_GREEDY = {"temperature": 0.0}

CHAT_EXAMPLES = (
    Example(
        marked("A fork in the story"),
        "Tell me a story.",
        marked(
            "The has 24 %, There and A 11 % each. Each begins another story: force them one after "
            "the other, and compare the branches."
        ),
        chat=True,
    ),
    Example(
        marked("Certain at the right word"),
        "What is the capital of France?",
        marked(
            "The first word is open: The has 17 %. When Paris comes, it has 96 %. Click the tokens "
            "one after another."
        ),
        _GREEDY,
        chat=True,
        steps=6,
    ),
    Example(
        marked("Confident and wrong"),
        "Say yes or no: is a tomato a fruit?",
        marked(
            "No has 41 %, Yes 12 %. After No the rest follows, up to 99 % certain. Click the first "
            "token and force Yes."
        ),
        _GREEDY,
        chat=True,
        steps=9,
    ),
    Example(
        marked("Wrong by a digit"),
        "What is 17 times 23?",
        marked(
            "The form is certain up to the 3. The next digits have 28 % and 34 %: they are "
            "guessed. The product is 391."
        ),
        _GREEDY,
        chat=True,
        steps=11,
    ),
    Example(
        marked("Letters unseen"),
        "How many r are in strawberry?",
        marked(
            "The model reads tokens, not letters. Its 1 has 30 %: a guess that looks like an "
            "answer."
        ),
        _GREEDY,
        chat=True,
        steps=6,
    ),
    Example(
        marked("Undecided"),
        "Flip a coin. Answer with heads or tails only.",
        marked(
            "No token reaches 7 %, so every seed begins differently. Search for Heads: this small "
            "model has not understood the task."
        ),
        chat=True,
    ),
    Example(
        marked("Loop in a poem"),
        "Write a poem about the sea.",
        marked(
            "The same line comes again and again. Its sea has 7 % the first time and 99 % at the "
            "end: repetition makes itself certain."
        ),
        _GREEDY,
        chat=True,
        steps=60,
    ),
    Example(
        marked("Rare word in pieces"),
        "What does floccinaucinihilipilification mean?",
        marked(
            "The word is ten tokens. Copying them is nearly certain; the meaning is made up, each "
            "word with less certainty."
        ),
        _GREEDY,
        chat=True,
        steps=24,
    ),
    Example(
        marked("Form and content"),
        "List five fruits.",
        marked(
            "Numbers, full stops and line ends are almost certain. Each fruit is a choice: none "
            "begins with more than 36 %."
        ),
        _GREEDY,
        chat=True,
        steps=24,
    ),
    Example(
        marked("System prompt"),
        "Who are you?",
        marked(
            "As a pirate it begins with A, for Aye (22 %). Open Chat and empty the system prompt: "
            "now I has 31 %."
        ),
        _GREEDY,
        chat=True,
        system="You are a pirate.",
        steps=12,
    ),
)
WRITTEN_FOR = marked("These notes were written for {model}; with another model they may be wrong.")
_SMOLLM2 = "smollm2"


def examples_of(model: LanguageModel) -> tuple[Example, ...]:
    """Return the examples for a model, the first of which a new visitor sees."""
    return CHAT_EXAMPLES if model.vocabulary.has_chat_template else EXAMPLES


def written_for(model: LanguageModel) -> str:
    """Return a remark if the statements of the examples were measured on a different model."""
    is_chat = model.vocabulary.has_chat_template
    if model.source == (_SMOLLM2 if is_chat else BUNDLED):
        return ""
    return say(WRITTEN_FOR, model="SmolLM2 135M Instruct" if is_chat else say("the bundled model"))


def is_example(prompt: str) -> bool:
    """Return whether a prompt is that of an example."""
    return any(each.prompt == prompt for each in (*EXAMPLES, *CHAT_EXAMPLES))


def shown_examples(model: LanguageModel) -> dict[str, Any]:
    """Return the examples for the page, and the remark about them."""
    listed = _shown(model.vocabulary.has_chat_template, language())
    return {"list": listed, "note": written_for(model)}


@lru_cache
def _shown(is_chat: bool, _language: str) -> list[dict[str, object]]:
    return [example.to_dict() for example in (CHAT_EXAMPLES if is_chat else EXAMPLES)]
