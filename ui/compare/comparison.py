"""A visitor's comparison: columns of settings, each with its own text from one prompt.

A column's text is a `Decoder`'s, so it is identical to the step page's text for the same prompt,
settings and seed. A change restarts the affected texts; a refused change leaves everything as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import Meta, Struct

from engine.decoder import Decoder
from engine.decoding import encode_prompt
from engine.errors import (
    DecodingError,
    ModelError,
    SettingError,
)
from engine.model import LanguageModel
from engine.sampling import PRESETS, SamplingSettings
from engine.values import Whole
from ui.compare.column import Column, model_title
from ui.compare.sampling_run import KeptSamples, SamplesRecord, SamplingRun
from ui.jobs import Owner
from ui.labs.inputs import Inputs, PlainInputs
from ui.labs.state import InputsState
from ui.playing import Player
from ui.texts.constraints import constraint_of
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED, LONGEST_PROMPT, MOST_TOKENS, checked_whole
from ui.texts.settings import fitted
from ui.texts.texts import Beginning, Messages, check_prompt, readable
from ui.visits.in_hand import Prompt
from ui.visits.link import Link
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.errors import told
from ui.words.language import ENGLISH, marked, say, speaking

FEWEST, MOST = 2, 6  # number of columns
FIRST_TOKENS = 24  # of a column when the page opens
SPEEDS = {
    marked("2 tokens/s"): (0.5, 0.0),
    marked("5 tokens/s"): (0.2, 0.0),
    marked("Fastest"): (0.2, 0.15),
}

FIRST_SEED = 5  # with which the texts of `FIRST` differ on the bundled model's first example
FIRST = ("Greedy", "Pure sampling", "Top-k 50", "Nucleus: p 0.9, T 0.7")


@dataclass(frozen=True)
class CompareInputs(Inputs):
    """The inputs that all columns share.

    Attributes in addition to the prompt:
        chat: True if the prompt goes through the chat template.
        before: messages of the conversation before the prompt; only in chat.
        max_tokens: maximum number of generated tokens per text.
        same_u: True if all columns draw with the same uniform numbers, from `seed`.
        seed: the common seed.
    """

    prompt: Annotated[str, Meta(max_length=LONGEST_PROMPT)] = EXAMPLES[0].prompt
    chat: bool = False
    before: Messages = ()
    max_tokens: Annotated[int, Meta(title=marked("Max tokens"), ge=1, le=MOST_TOKENS)] = 64
    same_u: bool = True
    seed: Annotated[int, Meta(title=marked("Seed"), ge=0, le=LARGEST_SEED)] = FIRST_SEED

    @property
    def begun(self) -> Beginning:
        """The beginning of every text."""
        return Beginning(self.prompt, self.chat, before=self.before)

    def effective(self, column: Column) -> SamplingSettings:
        """Return a column's settings with the seed that it draws with."""
        return column.settings.replace(seed=self.seed) if self.same_u else column.settings


class _KeptColumn(Struct):
    number: Whole
    settings: dict[str, Any]
    tokens: Annotated[list[Whole], Meta(max_length=MOST_TOKENS)]
    model: Choice | None = None


class _Kept(Struct):
    model: Choice
    speed: Literal[*SPEEDS]
    columns: Annotated[list[_KeptColumn], Meta(min_length=FEWEST, max_length=MOST)]
    samples: SamplesRecord | None


class _Linked(Struct):
    columns: Annotated[list[dict[str, Any]], Meta(min_length=FEWEST, max_length=MOST)]


class Comparison(InputsState[CompareInputs]):
    """One visitor's columns, and their common inputs.

    Args:
        model, inputs: the model, and the inputs that all columns share.
        speed: the playing speed, a key of `SPEEDS`.
        columns: at least two; empty for those that the page opens with.

    Attributes in addition to those of `InputsState`:
        player: plays the columns.
        said: a remark on regenerated texts; empty for none.
        sampling: the job that generates samples of each column; None before a request.
    """

    name: ClassVar[str] = "compare"
    inputs_class: ClassVar[type[PlainInputs]] = CompareInputs
    kept: ClassVar[type[Struct]] = _Kept
    works: ClassVar[tuple[str, ...]] = ("sampling",)

    said = ""
    sampling: SamplingRun | None = None

    def __init__(
        self,
        model: LanguageModel,
        inputs: CompareInputs | None = None,
        speed: str = "5 tokens/s",
        columns: Sequence[Column] = (),
    ) -> None:
        super().__init__(model, inputs)
        self.player: Player[Column] = Player(self, SPEEDS, speed, None)
        if not columns:
            names = [name for name in FIRST if name in self.presets]
            columns = [_of_preset(name, number) for number, name in enumerate(names, start=1)]
        self._next_number = 1 + max(column.number for column in columns)
        self._exchange(columns=columns, wanted=FIRST_TOKENS, now=False)

    # --- columns ----------------------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[Column]:
        """Two to six columns, from left to right; the others are compared with the first."""
        return self.player.texts

    @property
    def presets(self) -> tuple[str, ...]:
        """Names of the presets that this model's vocabulary allows."""
        return tuple(name for name, settings in PRESETS.items() if _fits(settings, self.model))

    @property
    def second_model(self) -> LanguageModel | None:
        """The model of the columns that do not have the page's; None if all have that."""
        return next((column.own_model for column in self.columns if column.own_model), None)

    def model_of(self, column: Column) -> LanguageModel:
        """Return the model that writes a column's text."""
        return column.own_model or self.model

    def column(self, number: int) -> Column | None:
        """Return the column with this number; None if it was removed."""
        return next((column for column in self.columns if column.number == number), None)

    @property
    def settings_differ(self) -> bool:
        """True if columns have different settings, seeds aside."""
        return any(
            column.settings.chain != self.columns[0].settings.chain for column in self.columns
        )

    # --- changes: each restarts texts, or leaves everything as it was and says why ----------------

    def take(self, inputs: CompareInputs) -> None:
        """Restart the texts that would begin differently."""
        self._exchange(inputs)

    @property
    def prompt_held(self) -> Prompt:
        return Prompt(self.inputs.prompt, self.inputs.chat, before=self.inputs.before)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Set a prompt for all columns; the first one gets the settings if no column has them."""
        chat = self.inputs.chat if prompt.chat is None else prompt.chat
        chat = chat and self.model.vocabulary.has_chat_template
        inputs = replace(self.inputs, prompt=prompt.text, chat=chat, before=prompt.before)
        columns = list(self.columns)
        if settings is not None:
            inputs = replace(inputs, seed=settings.seed)
            if all(column.settings.chain != settings.chain for column in columns):
                columns[0] = replace(columns[0], settings=settings)
        with self.refusing():
            self._exchange(inputs, columns, now=False)

    def vary_seed(self) -> None:
        """Give all columns the settings of the first one that draws, each with a different seed."""
        drawing = [column.settings for column in self.columns if not column.settings.is_greedy]
        if not drawing:
            self.error = say("Every column is greedy; choose settings that draw for at least one.")
            return
        columns = [
            replace(column, settings=drawing[0].replace(seed=seed % (LARGEST_SEED + 1)))
            for seed, column in enumerate(self.columns, start=self.inputs.seed)
        ]
        with self.refusing():
            self._exchange(replace(self.inputs, same_u=False), columns)

    def set_settings(self, number: int, settings: SamplingSettings) -> None:
        """Set one column's settings, including its own seed for use without a common one."""
        with self.refusing():
            self._exchange(columns=self._with(number, settings))

    def adjust(self, number: int, **changes: object) -> None:
        """Change settings of one column as typed, by `SamplingSettings` keyword."""
        column = self.column(number)
        if column is None:  # the visitor has removed it
            return
        with self.refusing():
            if "seed" in changes:
                label, seed = say("Seed of this column"), changes["seed"]
                changes["seed"] = checked_whole(label, seed, 0, LARGEST_SEED)
            self._exchange(columns=self._with(number, column.settings.replace(**changes)))

    def constrain(self, number: int, language: str, source: str) -> bool:
        """Set the typed constraint of one column; return True if it is accepted."""
        with self.refusing():
            constraint = constraint_of(language, source)
        if not self.error:
            self.adjust(number, constraint=constraint)
        return not self.error

    def load_second(self, model: LanguageModel) -> None:
        """Let a second model write the columns that had one, otherwise those of a new column.

        The new column has the settings of the first; without room for it, the last column gets the
        model instead.

        Raises:
            DecodingError: it is the page's model, or cannot begin with prompt and settings.
        """
        if model is self.model:
            raise ModelError(
                say("{model} is the page's model; choose another one.", model=model_title(model))
            )
        columns, number = list(self.columns), self._next_number
        if self.second_model is not None:
            columns = [replace(each, own_model=each.own_model and model) for each in columns]
        elif len(columns) < MOST:
            columns.append(Column(number, columns[0].settings, model))
        else:
            columns[-1] = replace(columns[-1], own_model=model)
        self._next_number += 1  # before any call that may redraw the page
        self._exchange(columns=columns)

    def use_model(self, number: int, model: LanguageModel) -> None:
        """Let the page's model or the second one write a column's text."""
        own = None if model is self.model else model
        with self.refusing():
            self._exchange(
                columns=[
                    replace(each, own_model=own) if each.number == number else each
                    for each in self.columns
                ]
            )

    def add(self) -> None:
        """Add a column with the first preset that no column has yet."""
        if len(self.columns) >= MOST:
            self.error = say(
                "There are already {most} columns, the maximum; remove one first.", most=MOST
            )
            return
        present = {column.preset for column in self.columns}
        name = next((name for name in self.presets if name not in present), "Pure sampling")
        column = _of_preset(name, self._next_number)
        self._next_number += 1  # before any call that may redraw the page
        with self.refusing():
            self._exchange(columns=[*self.columns, column])

    def remove(self, number: int) -> None:
        """Remove a column."""
        columns = [column for column in self.columns if column.number != number]
        with self.refusing():
            if len(columns) >= FEWEST:
                self._exchange(columns=columns)

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model and the same prompt; raises the errors of `Decoder`.

        Settings that name tokens of the old vocabulary are switched off, and `error` says so.
        """
        columns, lost = self._fitted(self.columns, model)
        chat = self.inputs.chat and model.vocabulary.has_chat_template
        self._exchange(replace(self.inputs, chat=chat), columns, model)
        self.error = lost

    def take_over(
        self,
        model: LanguageModel,
        begun: Beginning,
        settings: SamplingSettings,
        number: int,
    ) -> None:
        """Set a model and prompt for all columns and settings, including the seed, for one.

        If it is the second model, only this column uses it.

        Everything changes at once, or nothing if it is refused: the old prompt might not fit the
        new model.
        """
        own = None
        if model is self.second_model:
            own, model = model, self.model
        others = [column for column in self.columns if column.number != number]
        fitting, lost = self._fitted(others, model)
        by_number = {column.number: column for column in fitting}
        columns = [
            by_number.get(column.number) or replace(column, own_model=own)
            for column in self._with(number, settings)
        ]
        seed = settings.seed if self.inputs.same_u else self.inputs.seed
        with self.refusing():
            inputs = replace(
                self.inputs, prompt=begun.prompt, chat=begun.chat, before=begun.before, seed=seed
            )
            self._exchange(inputs, columns, model)
            self.error = lost

    def _with(self, number: int, settings: SamplingSettings) -> list[Column]:
        """Return the columns, with new settings in one of them."""
        return [
            replace(column, settings=settings) if column.number == number else column
            for column in self.columns
        ]

    def _fitted(self, columns: Sequence[Column], model: LanguageModel) -> tuple[list[Column], str]:
        """Adapt columns to a new model; also returns a message on settings that were lost."""
        taken = [(column, *fitted(column.settings, self.model, model)) for column in columns]
        lost = [lost for _, _, lost in taken if lost]
        columns, second = [], self.second_model
        for column, settings, _ in taken:
            own = column.own_model if second is not model else None
            columns.append(replace(column, settings=settings, own_model=own))
        return columns, " ".join(dict.fromkeys(lost))

    def _exchange(
        self,
        inputs: CompareInputs | None = None,
        columns: Sequence[Column] | None = None,
        model: LanguageModel | None = None,
        *,
        wanted: int | None = None,
        now: bool = True,
    ) -> None:
        """Apply new values, where None keeps the current one. A failure changes nothing.

        Args:
            inputs, columns, model: the new values; only columns whose text they affect restart.
            wanted: number of tokens for restarted columns; None for as many as the longest text.
            now: True to generate them at once, False to wait for the next `look`.
        """
        inputs, model = inputs or self.inputs, model or self.model
        if wanted is None:
            wanted = self.player.aim if model is self.model else FIRST_TOKENS
        wanted = min(wanted, inputs.max_tokens)
        start = _start(model, inputs)
        starts, others = {None: start}, {None: False}
        was = self.inputs
        is_same = model is self.model and inputs.begun == was.begun
        texts = []
        for column in self.columns if columns is None else columns:
            settings, stays = inputs.effective(column), is_same and column in self.columns
            if not stays or column.error or settings != was.effective(column):
                own = column.own_model
                if own not in starts:
                    others[own] = not own.vocabulary.has_tokens_of(model.vocabulary)
                    starts[own] = self._start_of(own, model, inputs, is_other=others[own])
                if others[own]:
                    settings, _ = fitted(settings, model, own)
                text = Decoder(own or model, starts[own], settings)
                column = replace(
                    column, text=text, error="", recorded=(), has_other_tokens=others[own]
                )
            texts.append(column)
        if model is not self.model:
            self.player.stop()
            self.forget_works()
        self.model, self.inputs, self.player.limit = model, inputs, inputs.max_tokens
        self.error = ""
        for column in texts:
            column.wanted = len(column.recorded) or wanted
        self.player.take(texts, now=now)

    @staticmethod
    def _start_of(
        own: LanguageModel, model: LanguageModel, inputs: CompareInputs, *, is_other: bool
    ) -> str | list[int]:
        """Return the prompt for a second model: the same tokens, if it has them."""
        if not is_other:
            return encode_prompt(model, _start(model, inputs))
        has_template = own.vocabulary.has_chat_template
        return _start(own, replace(inputs, chat=inputs.chat and has_template))

    # --- growing ----------------------------------------------------------------------------------

    @property
    def why_over(self) -> str:
        """The reason that no text can continue, and a remedy; empty while one can."""
        if self.player.can_go_on:
            return ""
        if any(column.can_go_on(MOST_TOKENS) for column in self.columns):
            most = self.inputs.max_tokens
            return say("No text may have more than {most} tokens; raise Max tokens.", most=most)
        return say("Every text has ended; adjust a column, or press Rewind.")

    def pressed(self) -> None:
        """Clear the remark on regenerated texts."""
        self.said = ""

    def look(self) -> None:
        """Prepare a drawing: add tokens, and compare regenerated texts with the record."""
        self.player.look()
        again = [column for column in self.columns if column.recorded]
        if not again or self.player.is_behind or self.player.is_busy:
            return
        others = [str(place) for place, column in enumerate(self.columns, 1) if not column.is_same]
        if not all(column.wanted for column in again):
            pass  # the visitor has stopped the regeneration
        elif others:
            self.said = say(
                "The texts were generated again. Those of these columns are no longer the same: "
                "{columns}.",
                columns=", ".join(others),
            )
        else:
            self.said = say("The texts were generated again. All tokens are the same.")
        for column in again:
            column.recorded = ()

    # --- samples ----------------------------------------------------------------------------------

    def sample(self, count: float | None, owner: Owner) -> None:
        """Start generating `count` texts per column."""
        with speaking(ENGLISH):  # files are the same in all languages
            columns = [
                (
                    column.number,
                    f"{place}. {column.title}",
                    column.in_force if column.has_other_tokens else column.settings,
                )
                for place, column in enumerate(self.columns, start=1)
            ]
        models = {column.number: self.model_of(column) for column in self.columns}

        def made() -> SamplingRun:
            inputs = self.inputs
            starts = {self.model: _start(self.model, inputs)}
            for column in self.columns:
                if column.own_model is not None:
                    starts[column.own_model] = self._start_of(
                        column.own_model, self.model, inputs, is_other=column.has_other_tokens
                    )
            return SamplingRun(
                models,
                starts,
                columns,
                count=count,
                first_seed=inputs.seed,
                max_tokens=inputs.max_tokens,
                prompt_text=inputs.prompt,
                chat=inputs.chat,
                before=inputs.before,
            )

        self.begin_work("sampling", made, owner)

    # --- to disk and back, to another tab ---------------------------------------------------------

    @property
    def version(self) -> object:
        """A value that changes whenever the record would change."""
        columns = tuple(
            (column.number, column.settings, id(column.own_model)) for column in self.columns
        )
        sampling = self.sampling and (id(self.sampling), self.sampling.is_done)
        return super().version, self.player.version, columns, sampling

    def record(self) -> dict[str, Any]:
        """Return the whole page state as plain values."""
        sampling = self.sampling
        return super().record() | {
            "speed": self.player.speed,
            "columns": [
                {
                    "number": column.number,
                    "settings": column.settings.to_dict(),
                    "tokens": list(column.recorded) or column.token_ids,
                    "model": column.own_model and choice_record(column.own_model),
                }
                for column in self.columns
            ],
            "samples": sampling.record() if sampling and sampling.is_done else None,
        }

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Self:
        """Restore a comparison (see `InputsState.restored`); columns write their texts again.

        A column whose own model cannot be loaded gets the page's, and `error` says why.
        """
        kept, lost = read(data, cls.kept), []
        model = load(*choice_of(kept.model))
        columns = [
            Column(each.number, SamplingSettings.from_dict(each.settings)) for each in kept.columns
        ]
        if len({column.number for column in columns}) < len(columns):
            raise BrokenRecord("It has a column twice.")
        loaded: dict[tuple[str, str | None], LanguageModel | None] = {}
        for column, each in zip(columns, kept.columns, strict=True):
            if each.model is None:
                continue
            choice = choice_of(each.model)
            if choice not in loaded:
                loaded[choice] = None
                try:
                    own = load(*choice)
                    loaded[choice] = None if own is model else own
                except DecodingError as error:
                    lost.append(told(error))
            column.own_model = loaded[choice]
        made = cls(model, cls.inputs_class.restored(data), kept.speed, columns)
        for column, each in zip(made.columns, kept.columns, strict=True):
            column.recorded, column.wanted = each.tokens, len(each.tokens)
        if kept.samples is not None:
            made.sampling = KeptSamples(kept.samples, model)
        made.error = " ".join(lost)
        return made

    def link(self) -> Link:
        columns = [column.settings.to_dict() for column in self.columns]
        return Link(self.name, self.model.name, self.inputs.record() | {"columns": columns})

    def follow_link(self, values: dict[str, Any]) -> None:
        kept = read(values, _Linked)
        columns = [
            Column(number, SamplingSettings.from_dict(settings))
            for number, settings in enumerate(kept.columns, self._next_number)
        ]
        self._next_number += len(columns)
        self._exchange(self.inputs_class.restored(values), columns, wanted=0)

    def copy(self) -> Self:
        """Return an independent comparison with the same texts, for a second tab."""
        twin = super().copy()
        twin.said, twin.player = "", self.player.copy(twin)
        return twin

    def release(self) -> None:
        """Free the memory of caches, and end all work."""
        super().release()
        self.player.release()


def _of_preset(name: str, number: int) -> Column:
    # Every column gets a different seed, for use without a common one.
    return Column(number, PRESETS[name].replace(seed=number))


def _start(model: LanguageModel, inputs: CompareInputs) -> str | list[int]:
    """Return the prompt as `Decoder` accepts it; raises `PromptError` or `TokenizerError`."""
    check_prompt("prompt", inputs.prompt)
    read = readable(model, inputs.prompt, chat=inputs.chat, before=inputs.before)
    return read if isinstance(read, str) else list(read)


def _fits(settings: SamplingSettings, model: LanguageModel) -> bool:
    try:
        settings.check_vocabulary(model.vocab_size)
    except SettingError:
        return False
    return True
