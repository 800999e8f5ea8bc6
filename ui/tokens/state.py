"""A visitor's state of the tokens page: a text, two tokenizers, prices, measured times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.backend import require
from engine.errors import PromptError, msg
from engine.measure import PrefillAndDecode, PrefillAndDecodeMeasurement
from engine.model import LanguageModel
from engine.tokenizing import TextTokenizer, TokenizedText
from ui.jobs import Owner
from ui.labs.inputs import Inputs, PlainInputs
from ui.labs.state import InputsState
from ui.measurements.job import MeasureJob
from ui.tokens.measures import MEASURES
from ui.tokens.samples import experiments, samples
from ui.tokens.sources import BYTES, MODEL, NOTHING, name_of, tokenizer_of
from ui.words.language import say

TOKENIZERS = {"first", "second"}  # inputs that are keys of tokenizers
LONGEST = 5_000  # characters of a text
OUTPUT, ROUNDS = 16, 3  # number of tokens decoded after the text to time them, and of rounds


@dataclass(frozen=True)
class TokensInputs(Inputs):
    """Inputs of the tokens page.

    Attributes in addition to the text, which is called `prompt`:
        first, second: keys of the tokenizers, see `ui.tokens.sources`; `NOTHING` for no second one.
        measure: the measure in the chart of samples, one of `ui.tokens.measures.MEASURES`.
        input_price, output_price: dollars per million tokens.
    """

    prompt: str = experiments()[0].text
    first: str = MODEL
    second: str = BYTES
    measure: Literal[*MEASURES] = "tokens"
    input_price: float = 1.0
    output_price: float = 5.0


@dataclass(frozen=True)
class Shown:
    """A tokenizer on the page, and the text as it tokenizes it.

    Attributes:
        key: its key among the choices.
        name: its name on the page.
        tokenizer: the tokenizer.
        cut: the tokenized text.
    """

    key: str
    name: str
    tokenizer: TextTokenizer
    cut: TokenizedText


class TokensState(InputsState[TokensInputs]):
    """One visitor's tokens page.

    Attributes in addition to those of `InputsState`:
        model: the model whose passes are timed; its tokenizer is the default for `first`.
        work: the last timing job; None before the first.
    """

    name: ClassVar[str] = "tokens"
    inputs_class: ClassVar[type[PlainInputs]] = TokensInputs
    work: MeasureJob[PrefillAndDecode] | None = None

    def __init__(self, model: LanguageModel, inputs: TokensInputs | None = None) -> None:
        super().__init__(model, inputs)
        self._cuts: dict[tuple[str, str], TokenizedText] = {}
        self._tokenizers: dict[str, TextTokenizer] = {}

    def take(self, inputs: TokensInputs) -> None:
        """Set the inputs; raises `DecodingError` if a new tokenizer cannot be loaded."""
        for name in TOKENIZERS:
            key = getattr(inputs, name)
            if key not in (NOTHING, getattr(self.inputs, name)):
                self._tokenizer(key)
        super().take(inputs)

    # --- tokens -----------------------------------------------------------------------------------

    def shown(self) -> list[Shown]:
        """Return the text as each tokenizer splits it.

        Raises:
            DecodingError: the text is empty or too long, or a tokenizer cannot be loaded.
        """
        text = self._text()
        keys = dict.fromkeys((self.inputs.first, self.inputs.second))
        return [
            Shown(key, name_of(key, self.model), self._tokenizer(key), self.cut(key, text))
            for key in keys
            if key != NOTHING
        ]

    def _text(self) -> str:
        text = self.inputs.prompt
        if len(text) > LONGEST:
            raise PromptError(
                say(
                    "The text has {count} characters, and the page shows at most {most}; "
                    "shorten it.",
                    count=f"{len(text):,}",
                    most=f"{LONGEST:,}",
                )
            )
        return text

    def cut(self, key: str, text: str) -> TokenizedText:
        """Tokenize a text; raises the errors of `shown`."""
        found = self._cuts.get((key, text))
        if found is None:
            found = self._tokenizer(key).tokenize(text)
            # Keep the tokens of the samples and of the newest text only.
            stay = {sample.text for sample in samples()} | {text}
            self._cuts = {place: cut for place, cut in self._cuts.items() if place[1] in stay}
            self._cuts[key, text] = found
        return found

    def _tokenizer(self, key: str) -> TextTokenizer:
        if key not in self._tokenizers:
            self._tokenizers[key] = tokenizer_of(key, self.model)
        return self._tokenizers[key]

    # --- time -------------------------------------------------------------------------------------

    def begin(self, owner: Owner) -> None:
        """Start timing the text on the model; if it is refused, the last times stay."""
        self.begin_work("work", self._timing, owner)
        self.began_alone = True

    def _timing(self) -> MeasureJob[PrefillAndDecode]:
        require(self.model, msg("Timing"), "weights")
        count = len(self.cut(MODEL, self._text()).tokens)
        return MeasureJob(PrefillAndDecodeMeasurement(self.model, [count], [OUTPUT], ROUNDS))

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model and its tokenizer; times must be measured again."""
        super().load(model)
        self._cuts, self._tokenizers = {}, {}
