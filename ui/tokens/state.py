"""What a visitor has of the tokens page: a text, two tokenizers, prices, and what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.backend import require
from engine.errors import DecodingError, PromptError, msg
from engine.measure.prefill_and_decode import PrefillAndDecode, PrefillAndDecodeMeasurement
from engine.model import LanguageModel
from engine.tokenizing import TextTokenizer, TokenizedText
from ui.jobs import Owner
from ui.labs.inputs import Inputs, Kept
from ui.measurements.work import MeasureWork
from ui.tokens.measures import MEASURES
from ui.tokens.samples import experiments, samples
from ui.tokens.sources import BYTES, MODEL, NOTHING, name_of, tokenizer_of
from ui.visits.in_hand import Prompt
from ui.visits.records import BrokenRecord, choice_of, choice_record, read
from ui.words.language import say
from ui.words.refusals import told

TOKENIZERS = {"first", "second"}  # inputs that are keys of tokenizers
LONGEST = 5_000  # characters of a text
OUTPUT, ROUNDS = 16, 3  # tokens that are decoded behind the text for their time, and how often


@dataclass(frozen=True)
class TokensInputs(Inputs):
    """What a visitor looks at.

    Attributes, besides the text, which is called `prompt`:
        first, second: keys of the tokenizers, see `ui.tokens.sources`; the second may be none.
        measure: what the chart of samples shows, one of `ui.tokens.measures.MEASURES`.
        input_price, output_price: dollars per million tokens.
    """

    prompt: str = experiments()[0].text
    first: str = MODEL
    second: str = BYTES
    measure: str = "tokens"
    input_price: float = 1.0
    output_price: float = 5.0


@dataclass(frozen=True)
class Shown:
    """A tokenizer on the page, and the text as it cuts it.

    Attributes:
        key: its key among the choices.
        name: what the page calls it.
        tokenizer: itself.
        cut: the text.
    """

    key: str
    name: str
    tokenizer: TextTokenizer
    cut: TokenizedText


class TokensState:
    """One visitor's tokens page.

    Attributes:
        model: its tokenizer is the first one, and its passes are timed.
        inputs: what is on screen.
        error: what went wrong last, empty if nothing did.
        work: the last timing; None before the first.
        began_alone: whether the first timing was begun without a press.
    """

    name: ClassVar[str] = "tokens"

    def __init__(self, model: LanguageModel, inputs: TokensInputs | None = None) -> None:
        self.model = model
        self.inputs = inputs or TokensInputs()
        self.error = ""
        self.work: MeasureWork[PrefillAndDecode] | None = None
        self.began_alone = False
        self._cuts: dict[tuple[str, str], TokenizedText] = {}
        self._tokenizers: dict[str, TextTokenizer] = {}

    def change(self, **changes: Any) -> None:
        """Other inputs, by name; a tokenizer that cannot be had leaves the one before."""
        self.error = ""
        inputs = replace(self.inputs, **changes)
        try:
            for name in TOKENIZERS & changes.keys():
                if changes[name] != NOTHING:
                    self._tokenizer(changes[name])
        except DecodingError as error:
            self.refuse(error)
            return
        self.inputs = inputs

    @property
    def prompt_held(self) -> Prompt:
        """Its text, for `ui.visits.in_hand`."""
        return Prompt(self.inputs.prompt)

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Another text; settings mean nothing here."""
        self.change(prompt=prompt.text)

    def refuse(self, error: DecodingError) -> None:
        """Say why something was not done."""
        self.error = told(error)

    # --- tokens -----------------------------------------------------------------------------------

    def shown(self) -> list[Shown]:
        """The text by each tokenizer.

        Raises:
            DecodingError: there is no text, or too much of it, or a tokenizer cannot be had.
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
        """A text by a tokenizer; raises as `shown` does."""
        found = self._cuts.get((key, text))
        if found is None:
            found = self._tokenizer(key).tokenize(text)
            # The samples stay, and of the texts that were typed the last one.
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
        """Time the text on the model; what is refused leaves the last times."""
        self.error = ""
        try:
            require(self.model, msg("Timing"), "weights")
            count = len(self.cut(MODEL, self._text()).tokens)
            work = MeasureWork(PrefillAndDecodeMeasurement(self.model, [count], [OUTPUT], ROUNDS))
        except DecodingError as error:
            self.refuse(error)
        else:
            work.start(owner)  # first: a page may be drawn again at any word, before it began
            self.release()
            self.work = work
        self.began_alone = True

    def load(self, model: LanguageModel) -> None:
        """Go on with another model and its tokenizer; times are measured anew."""
        self.release()
        self.model, self.work, self.error, self.began_alone = model, None, "", False
        self._cuts, self._tokenizers = {}, {}

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        return id(self.model), self.inputs

    def record(self) -> dict[str, Any]:
        """Model and inputs; times are measured again."""
        return {"model": choice_record(self.model), "inputs": self.inputs.record()}

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> TokensState:
        """The inverse of `record`.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        kept = read(data, Kept)
        inputs = TokensInputs.restored(kept.inputs)
        if inputs.measure not in MEASURES:
            raise BrokenRecord("Its measure is not known.")
        return cls(load(*choice_of(kept.model)), inputs)

    def release(self) -> None:
        """End what nobody waits for any more."""
        if self.work is not None:
            self.work.cancel()
