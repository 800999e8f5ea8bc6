"""What a visitor compares: columns of settings, each with a text of its own from one prompt.

A column's text is a `Decoder`'s, so it is the very text that the step page makes of the same
prompt, settings and seed. A change of a column's settings begins its text anew; a change that is
refused leaves everything as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from engine.decoder import Decoder
from engine.errors import DecodingError, PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.presets import PRESETS
from engine.values import Whole
from ui.compare.column import Column
from ui.compare.sampling_run import KeptSamples, SamplesRecord, SamplingRun
from ui.jobs import UNKNOWN, Owner, in_thread
from ui.texts.constraints import constraint_of
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED, LONGEST_PROMPT, MOST_TOKENS, checked_whole
from ui.texts.settings import fitted
from ui.visits.in_hand import Prompt
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.language import ENGLISH, marked, say, speaking
from ui.words.refusals import told

FEWEST, MOST = 2, 6  # columns
FIRST_TOKENS = 24  # that a column has when the page opens
SPEEDS = {  # by name, seconds between two looks, and of generating in each; one token at least
    marked("2 tokens/s"): (0.5, 0.0),
    marked("5 tokens/s"): (0.2, 0.0),
    marked("Fastest"): (0.2, 0.15),
}
BUDGET_S = 0.8  # of generating at once; the rest comes in further looks

FIRST_SEED = 5  # by which the texts of `FIRST` differ from the bundled model's first example on
FIRST = ("Greedy", "Pure sampling", "Top-k 50", "Nucleus: p 0.9, T 0.7")


class _KeptColumn(Struct):
    number: Whole
    settings: dict[str, Any]
    tokens: Annotated[list[Whole], Meta(max_length=MOST_TOKENS)]


class _Kept(Struct):
    model: Choice
    prompt: Annotated[str, Meta(max_length=LONGEST_PROMPT)]
    chat: bool
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    same_u: bool
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)]
    speed: Literal[*SPEEDS]
    columns: Annotated[list[_KeptColumn], Meta(min_length=FEWEST, max_length=MOST)]
    samples: SamplesRecord | None


class Comparison:
    """One visitor's columns, and what they have in common.

    Attributes:
        model: the model, shared with other visitors.
        prompt, chat: what all texts start from, and whether through the chat template.
        max_tokens: most generated tokens of a text.
        same_u: whether all columns draw with the uniform numbers of `seed`.
        seed: that seed.
        columns: two to six, from left to right; the first is what the others are compared with.
        playing: whether tokens are being added.
        speed: how fast, by the name that the page gives it.
        error: what went wrong with the last change, empty if nothing did.
        said: what there is to know of texts that were generated again; empty for nothing.
        sampling: the samples per setting, None before they are asked for.
        owner: whose columns they are.
    """

    name: ClassVar[str] = "compare"
    owner: Owner = UNKNOWN

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.prompt = EXAMPLES[0].prompt
        self.chat = False
        self.max_tokens = 64
        self.same_u = True
        self.seed = FIRST_SEED
        self.playing = False
        self.speed = "5 tokens/s"
        self._prepare()
        self.columns = [self._made(name) for name in FIRST if name in self.presets]
        self._begin(self.columns)
        self._wanted = FIRST_TOKENS

    def _prepare(self) -> None:
        self.error = self.said = ""
        self.sampling: SamplingRun | None = None
        self._wanted = 0  # tokens that a text is to have again after it was begun anew
        self._recorded: dict[int, list[int]] = {}  # texts of a record that are to come again
        self._next_number = 1

    def _made(self, preset: str) -> Column:
        # Every column has a seed of its own for when they do not share one.
        column = Column(self._next_number, PRESETS[preset].replace(seed=self._next_number))
        self._next_number += 1
        return column

    @property
    def presets(self) -> tuple[str, ...]:
        """Names of the presets that this model's vocabulary allows."""
        return tuple(name for name, settings in PRESETS.items() if _fits(settings, self.model))

    def column(self, number: int) -> Column | None:
        """The column of that number, None if it is gone."""
        return next((column for column in self.columns if column.number == number), None)

    def effective(self, column: Column) -> SamplingSettings:
        """A column's settings with the seed that it draws with."""
        return column.settings.replace(seed=self.seed) if self.same_u else column.settings

    @property
    def settings_differ(self) -> bool:
        """True if columns have different settings, seeds aside."""
        return any(
            column.settings.chain != self.columns[0].settings.chain for column in self.columns
        )

    # --- changes: each begins texts anew, or leaves everything as it was and says why -------------

    def set_prompt(self, prompt: str, chat: bool = False) -> None:
        """Another prompt for all columns."""
        before = self.prompt, self.chat
        self.prompt, self.chat = prompt, chat
        if not self._restart():
            self.prompt, self.chat = before

    @property
    def prompt_held(self) -> Prompt:
        """Its prompt, for `ui.visits.in_hand`."""
        return Prompt(self.prompt, self.chat)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Another prompt for all columns; settings that no column has yet, for the first one."""
        chat = self.chat if prompt.chat is None else prompt.chat
        chat = chat and self.model.vocabulary.has_chat_template
        own, seed = {column.number: column.settings for column in self.columns}, self.seed
        if settings is not None:
            seed = settings.seed
            if all(column.settings.chain != settings.chain for column in self.columns):
                own[self.columns[0].number] = settings
        try:
            self._exchange(self.model, prompt.text, chat, seed, own)
        except DecodingError as error:
            self.error = told(error)

    def set_seeds(self, same_u: bool, seed: float | None) -> None:
        """Whether all columns draw with the numbers of one seed, and which, as it was typed."""
        before = self.same_u, self.seed
        try:
            self.same_u, self.seed = same_u, checked_whole(say("Seed"), seed, 0, LARGEST_SEED)
        except DecodingError as error:
            self.error = told(error)
            return
        if not self._restart():
            self.same_u, self.seed = before

    def vary_seed(self) -> None:
        """Give all columns the settings of the first that draws, and each a seed of its own."""
        drawing = [column.settings for column in self.columns if not column.settings.is_greedy]
        if not drawing:
            self.error = say("No column draws; choose settings that are not greedy for one.")
            return
        settings, before = drawing[0], self.same_u
        seeds = range(self.seed, self.seed + len(self.columns))
        own = {
            column.number: settings.replace(seed=seed % (LARGEST_SEED + 1))
            for column, seed in zip(self.columns, seeds, strict=True)
        }
        self.same_u, self.error = False, ""
        try:
            self._exchange(self.model, self.prompt, self.chat, self.seed, own)
        except DecodingError as error:
            self.same_u, self.error = before, told(error)
        else:
            self._catch_up()

    def set_max_tokens(self, max_tokens: float | None) -> None:
        """Another limit, as it was typed; texts that are longer already stay."""
        self.error = ""
        try:
            self.max_tokens = checked_whole(say("Max tokens"), max_tokens, 1, MOST_TOKENS)
        except DecodingError as error:
            self.error = told(error)

    def set_settings(self, number: int, settings: SamplingSettings) -> None:
        """Other settings for one column, with the seed that holds where there is no common one."""
        column = self.column(number)
        if column is not None:  # else it was removed meanwhile
            self._set(column, settings)

    def change(self, number: int, **changes: object) -> None:
        """Some settings of one column, by keyword as in `SamplingSettings`, typed in its fields."""
        column = self.column(number)
        if column is None:
            return
        try:
            if "seed" in changes:
                label, seed = say("Seed of this column"), changes["seed"]
                changes["seed"] = checked_whole(label, seed, 0, LARGEST_SEED)
            self._set(column, column.settings.replace(**changes))
        except DecodingError as error:
            self.error = told(error)

    def constrain(self, number: int, language: str, source: str) -> bool:
        """Another constraint for one column, as it was typed; whether it is taken."""
        try:
            constraint = constraint_of(language, source)
        except DecodingError as error:
            self.error = told(error)
            return False
        self.change(number, constraint=constraint)
        return not self.error

    def _set(self, column: Column, settings: SamplingSettings) -> None:
        before = column.settings
        column.settings = settings
        if not self._restart([column]):
            column.settings = before

    def add(self) -> None:
        """One column more: the first preset that is not there yet."""
        self.error = ""
        if len(self.columns) >= MOST:
            self.error = say(
                "There are {most} columns, the most there can be; remove one first.", most=MOST
            )
            return
        present = {column.preset for column in self.columns}
        name = next((name for name in self.presets if name not in present), "Pure sampling")
        column = self._made(name)
        try:
            self._begin([column])
        except DecodingError as error:
            self.error = told(error)
            return
        length = self._length()
        self.columns.append(column)
        self._want(length)

    def remove(self, number: int) -> None:
        """One column less."""
        self.error = ""
        column = self.column(number)
        if column is not None and len(self.columns) > FEWEST:
            self.columns.remove(column)

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same prompt; raises what `Decoder` raises.

        What names tokens of the old vocabulary is switched off, and `error` says so.
        """
        settings, lost = self._fitted(self.columns, model)
        chat = self.chat and model.vocabulary.has_chat_template
        self._exchange(model, self.prompt, chat, self.seed, settings)
        self._catch_up()
        self.error = lost

    def take_over(
        self,
        model: LanguageModel,
        prompt: str,
        chat: bool,
        settings: SamplingSettings,
        number: int,
    ) -> None:
        """Model and prompt for all columns and the settings for one, seed included.

        All together or, where they are refused, nothing: the prompt that is here need not fit a
        model that comes with a prompt of its own.
        """
        column = self.column(number)
        if column is None:
            return
        others, lost = self._fitted([other for other in self.columns if other is not column], model)
        seed = settings.seed if self.same_u else self.seed
        try:
            self._exchange(model, prompt, chat, seed, {**others, number: settings})
        except DecodingError as error:
            self.error = told(error)
        else:
            self._catch_up()
            self.error = lost

    def _fitted(
        self, columns: list[Column], model: LanguageModel
    ) -> tuple[dict[int, SamplingSettings], str]:
        """Settings by column number as another model can take them, and what it cannot."""
        taken = {column.number: fitted(column.settings, self.model, model) for column in columns}
        lost = " ".join(dict.fromkeys(lost for _, lost in taken.values() if lost))
        return {number: settings for number, (settings, _) in taken.items()}, lost

    def _exchange(
        self,
        model: LanguageModel,
        prompt: str,
        chat: bool,
        seed: int,
        settings: dict[int, SamplingSettings],
    ) -> None:
        """Begin all texts anew from this; what fails, fails before anything has changed."""
        start = _readable(model, prompt, chat)
        decoders = []
        for column in self.columns:
            own = settings[column.number]
            decoders.append(Decoder(model, start, own.replace(seed=seed) if self.same_u else own))
        length = self._length()
        if model is not self.model:
            self.stop()
            self.drop_sampling()
            length = FIRST_TOKENS
        self.model, self.prompt, self.chat, self.seed = model, prompt, chat, seed
        for column, decoder in zip(self.columns, decoders, strict=True):
            column.settings = settings[column.number]
            column.begin(decoder)
        self._wanted = min(length, self.max_tokens)

    def reset(self) -> None:
        """All texts back to the prompt."""
        self.error = ""
        self.stop()
        try:
            self._begin(self.columns)
        except DecodingError as error:
            self.error = told(error)

    def _restart(self, columns: list[Column] | None = None) -> bool:
        """New texts for these columns (None: all), as long as the longest was; False if refused."""
        self.error = ""
        length = self._length()
        try:
            self._begin(self.columns if columns is None else columns)
        except DecodingError as error:
            self.error = told(error)
            return False
        self._want(length)
        return True

    def _begin(self, columns: list[Column]) -> None:
        prompt = _readable(self.model, self.prompt, self.chat)
        decoders = [Decoder(self.model, prompt, self.effective(column)) for column in columns]
        for column, decoder in zip(columns, decoders, strict=True):
            column.begin(decoder)

    def _length(self) -> int:
        """Tokens of the longest text, or those that it is still to have again."""
        return max(self._wanted, *(column.length for column in self.columns))

    # --- growing ----------------------------------------------------------------------------------

    @property
    def can_go_on(self) -> bool:
        """Whether any text may have another token."""
        return any(column.can_go_on(self.max_tokens) for column in self.columns)

    @property
    def why_over(self) -> str:
        """Why no text may have another token, and what to do; empty while one may."""
        if self.can_go_on:
            return ""
        if any(column.can_go_on(MOST_TOKENS) for column in self.columns):
            return say(
                "No text may have more than {most} tokens; raise Max tokens.", most=self.max_tokens
            )
        return say("Every text has ended; adjust a column, or press Rewind.")

    @property
    def is_growing(self) -> bool:
        """Whether `tick` is to be called: it plays, or a new text is not yet as long as others."""
        is_behind = self._shortest() < self._wanted or bool(self._recorded)
        return is_behind or (self.can_go_on and self.playing)

    def stop(self) -> None:
        """Add no more tokens."""
        self.playing, self._wanted, self._recorded = False, 0, {}

    def step(self) -> None:
        """One token for every column that is not ahead of others; those behind catch up first."""
        self.said = ""
        going_on = self._going_on()
        shortest = self._shortest()
        behind = [column for column in going_on if column.length == shortest]
        in_thread(partial(self._step, behind), self.owner)

    def _step(self, columns: list[Column]) -> None:
        for column in columns:
            column.step(self.max_tokens)

    def tick(self, budget_s: float) -> None:
        """One token for every column, and more while there is time; where all have ended, stop."""
        if self._recorded:
            self._come_again()
            return
        if self._shortest() < self._wanted:
            self._catch_up()
            return
        end = time.monotonic() + budget_s
        while self.can_go_on:
            self.step()
            if time.monotonic() >= end:
                break
        if not self.can_go_on:
            self.stop()

    def _want(self, length: int) -> None:
        """Bring all texts to this length, as far as there is time; `tick` does the rest."""
        self._wanted = min(length, self.max_tokens)
        self._catch_up()

    def _catch_up(self) -> None:
        end = time.monotonic() + BUDGET_S
        while self._shortest() < self._wanted and time.monotonic() < end:
            self.step()
        if self._shortest() >= self._wanted:
            self._wanted = 0

    def _come_again(self) -> None:
        """Bring the texts of a record to the lengths that they had, as far as there is time."""
        end = time.monotonic() + BUDGET_S
        while time.monotonic() < end:
            behind = [
                (column, len(tokens))
                for column, tokens in zip(self.columns, self._tokens_recorded(), strict=True)
                if column.length < len(tokens) and column.can_go_on(len(tokens))
            ]
            if not behind:
                self._compare_with_record()
                return
            for column, length in behind:
                in_thread(partial(column.step, length), self.owner)

    def _tokens_recorded(self) -> list[list[int]]:
        return [self._recorded.get(column.number, []) for column in self.columns]

    def _compare_with_record(self) -> None:
        same = [
            tokens[: column.length] == column.decoder.token_ids[: len(tokens)]
            and column.length >= len(tokens)
            for column, tokens in zip(self.columns, self._tokens_recorded(), strict=True)
        ]
        self._recorded = {}
        if all(same):
            self.said = say("The texts were generated again. All tokens are the same.")
            return
        others = ", ".join(str(place) for place, is_same in enumerate(same, start=1) if not is_same)
        self.said = say(
            "The texts were generated again. Those of these columns are no longer the same: "
            "{columns}.",
            columns=others,
        )

    def _going_on(self) -> list[Column]:
        return [column for column in self.columns if column.can_go_on(self.max_tokens)]

    def _shortest(self) -> int:
        """Length of the shortest text that can go on; the longest there can be where none can."""
        return min((column.length for column in self._going_on()), default=self.max_tokens)

    # --- samples ----------------------------------------------------------------------------------

    def sample(self, count: float | None) -> SamplingRun | None:
        """`count` texts per column, to be started; None, and `error`, where that cannot be."""
        self.error = ""
        self.drop_sampling()
        with speaking(ENGLISH):  # the files of all languages are the same
            columns = [
                (column.number, f"{place}. {column.title}", column.settings)
                for place, column in enumerate(self.columns, start=1)
            ]
        try:
            self.sampling = SamplingRun(
                self.model,
                _readable(self.model, self.prompt, self.chat),
                columns,
                count=count,
                first_seed=self.seed,
                max_tokens=self.max_tokens,
                prompt_text=self.prompt,
                chat=self.chat,
            )
        except DecodingError as error:
            self.error = told(error)
        return self.sampling

    def drop_sampling(self) -> None:
        """End the samples under way and forget them."""
        if self.sampling is not None:
            self.sampling.cancel()
            self.sampling = None

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        columns = [(c.number, c.settings, id(c.decoder), c.length) for c in self.columns]
        common = (self.prompt, self.chat, self.max_tokens, self.same_u, self.seed, self.speed)
        sampling = self.sampling and (id(self.sampling), self.sampling.is_done)
        return id(self.model), common, tuple(columns), sampling

    def record(self) -> dict[str, Any]:
        """All of it as plain values."""
        sampling = self.sampling
        return {
            "model": choice_record(self.model),
            "prompt": self.prompt,
            "chat": self.chat,
            "max_tokens": self.max_tokens,
            "same_u": self.same_u,
            "seed": self.seed,
            "speed": self.speed,
            "columns": [
                {
                    "number": column.number,
                    "settings": column.settings.to_dict(),
                    "tokens": self._recorded.get(column.number) or column.token_ids,
                }
                for column in self.columns
            ],
            "samples": sampling.record() if sampling and sampling.is_done else None,
        }

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Comparison:
        """The inverse of `record`; `tick` generates the texts again.

        Args:
            data: the record.
            load: gives a model by source and revision.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        kept = read(data, _Kept)
        made = cls.__new__(cls)
        made._prepare()
        made.model = load(*choice_of(kept.model))
        made.prompt, made.chat, made.max_tokens = kept.prompt, kept.chat, kept.max_tokens
        made.same_u, made.seed = kept.same_u, kept.seed
        made.playing, made.speed = False, kept.speed
        made.columns = [
            Column(column.number, SamplingSettings.from_dict(column.settings))
            for column in kept.columns
        ]
        numbers = [column.number for column in made.columns]
        if len(set(numbers)) < len(numbers):
            raise BrokenRecord("It has a column twice.")
        made._next_number = max(numbers) + 1
        made._begin(made.columns)
        made._recorded = {column.number: column.tokens for column in kept.columns}
        if not any(made._recorded.values()):
            made._recorded = {}
        if kept.samples is not None:
            made.sampling = KeptSamples(kept.samples, made.model)
        return made

    def copy(self) -> Comparison:
        """An independent comparison with the same texts, for a second tab."""
        twin = Comparison.__new__(Comparison)
        twin.__dict__.update(self.__dict__)
        twin.playing, twin.error, twin.said = False, "", ""
        twin.columns = [column.copy() for column in self.columns]
        twin._recorded = dict(self._recorded)
        if self.sampling is not None and not self.sampling.is_done:
            twin.sampling = None
        return twin

    def release(self) -> None:
        """Give back the memory of caches, and end what nobody waits for any more."""
        self.stop()
        for column in self.columns:
            if column.decoder is not None:
                column.decoder.release_cache()
        if self.sampling is not None:
            self.sampling.cancel()


def _readable(model: LanguageModel, prompt: str, chat: bool) -> str | list[int]:
    """A prompt as decoders take it; raises `PromptError` or `TokenizerError` if none can."""
    if len(prompt) > LONGEST_PROMPT:
        raise PromptError(
            say(
                "The prompt has {length} characters; use at most {most}.",
                length=f"{len(prompt):,}",
                most=f"{LONGEST_PROMPT:,}",
            )
        )
    return list(model.vocabulary.chat_ids(prompt)) if chat else prompt


def _fits(settings: SamplingSettings, model: LanguageModel) -> bool:
    try:
        settings.check_vocabulary(model.vocab_size)
    except SettingError:
        return False
    return True
