"""What a decoder has generated so far, and all that one may ask about it afterwards.

Nothing here runs the model: a step's logits come from the record, and everything else follows from
them, the settings it was taken with and the steps before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from engine.backend import Backend, fitted
from engine.decoding import inputs
from engine.decoding.autoregressive import Autoregressive
from engine.decoding.record import LogitRecord
from engine.decoding.shaping import shaped
from engine.sampling import Distribution, SamplingSettings
from engine.sampling.stages import Context
from engine.trace import Guidance, Step, Trace


@dataclass(frozen=True)
class Mark:
    """What a step leaves for the next one, besides the text.

    Attributes:
        generator: in parity mode the seed, and the state of PyTorch's generator.
        states: what stages with a memory remember, by setting (`Context.states`).
    """

    generator: tuple[int, torch.Tensor] | None
    states: Mapping[str, object]


_NO_STATES: Mapping[str, object] = {}


class RecordedText(Autoregressive[Step]):
    """A text of a shared model as far as it has been generated; base of `engine.decoder.Decoder`.

    Attributes, besides those of `Autoregressive`:
        guidance: negative prompt, and scale of the next step; None without guidance. With it, raw
            logits are the guided row: log-probabilities that are not normalised.
        on_shaped: told of the distribution that every new token comes from, so that whoever shows
            it need not have it computed again; None tells nobody. Forks begin with the same one.
    """

    def __init__(
        self,
        model: Backend,
        prompt_ids: Sequence[int],
        settings: SamplingSettings,
        guidance: Guidance | None,
        stop_strings: tuple[str, ...],
    ) -> None:
        negative = guidance.negative_prompt_ids if guidance else ()
        super().__init__(model, prompt_ids, stop_strings, longest_prompt=len(negative))
        self.guidance = guidance
        self.on_shaped: Callable[[Distribution], None] | None = None
        self._set(settings)
        self._settings_from: list[tuple[int, SamplingSettings]] = [(0, settings)]
        self._record = LogitRecord(model)
        self._marks: list[Mark] = []

    @property
    def settings(self) -> SamplingSettings:
        """How the next token is chosen."""
        return self._settings

    @settings.setter
    def settings(self, settings: SamplingSettings) -> None:
        checked = self._checked(settings)
        fitted(settings, self.model, adds_top_k=False)  # one that is put in unseen would surprise
        settings = checked
        with self._lock:
            if settings == self._settings:
                return
            self._set(settings)
            if self._settings_from[-1][0] == len(self.steps):
                self._settings_from.pop()
            self._settings_from.append((len(self.steps), settings))

    def _set(self, settings: SamplingSettings) -> None:
        self._settings = settings
        model = self.model
        self._sequence.eos_ids = model.generate_eos_ids if settings.parity else model.eos_ids

    def settings_at(self, index: int) -> SamplingSettings:
        """The settings that a step was taken with."""
        index = inputs.checked_index(index, len(self.steps))
        return next(s for first, s in reversed(self._settings_from) if first <= index)

    @property
    def settings_by_step(self) -> list[tuple[int, SamplingSettings]]:
        """(first step, settings), in order: each holds until the next; the last are in force."""
        return list(self._settings_from)

    def logits(self, index: int) -> np.ndarray:
        """(vocab,) float32 raw logits of a step, exactly as the model gave them; read-only."""
        with self._lock:
            return self._record.row(inputs.checked_index(index, len(self.steps)))

    def release_rows(self) -> bool:
        """Give the memory of recent logits back, made again when needed; False if in use now."""
        return self._record.release()

    def distribution(self, index: int, settings: SamplingSettings | None = None) -> Distribution:
        """What any settings make of a step's logits.

        Args:
            index: the step.
            settings: None for those the step was taken with.

        Raises:
            NoCandidatesError: the settings leave no token.
            SettingError: `index` is no recorded step, or the settings do not fit the vocabulary.
        """
        with self._lock:
            index = inputs.checked_index(index, len(self.steps))
            settings = self.settings_at(index) if settings is None else self._checked(settings)
            return shaped(self._record.row(index), settings, self._context(index))

    def uniform(self, index: int) -> float:
        """The uniform number that belongs to a step: the one it was or is to be drawn with.

        Greedy, forced and parity steps do without it.

        Raises:
            SettingError: `index` is no step that there could be.
        """
        with self._lock:
            index = inputs.checked_place(index, len(self.steps))
            return self._sequence.uniform(index, self._seed_of(index))

    def context(self, index: int) -> Context:
        """What the stages of a step, taken or to come, know besides the logits.

        Tokens so far, end-of-text ids, the step's own random numbers, and what stages with a memory
        remembered there: it follows from the steps before, so it is the same however one came here.

        Raises:
            SettingError: `index` is no step that there could be.
        """
        with self._lock:
            return self._context(inputs.checked_place(index, len(self.steps)))

    def trace(self) -> Trace:
        """Everything so far as plain values, to be saved or shown."""
        with self._lock:
            return Trace(
                model=self.model.facts,
                prompt_ids=tuple(self.prompt_ids),
                prompt=self._prompt_text(),
                settings=tuple((first, s.to_dict()) for first, s in self._settings_from),
                stop_strings=self.stop_strings,
                steps=tuple(self.steps),
                guidance=self.guidance,
                strategy="guidance" if self.guidance else "sampling",
            )

    def _checked(self, settings: SamplingSettings) -> SamplingSettings:
        return inputs.checked_settings(settings, self.model, keep_seed_of=self._settings)

    def _context(self, index: int) -> Context:
        states = self._marks[index - 1].states if index else _NO_STATES
        return self._sequence.context(index, self._seed_of(index), states)

    def _seed_of(self, index: int) -> int:
        """The seed that a step was taken with, or is to be taken with."""
        is_taken = index < len(self.steps)
        return (self.settings_at(index) if is_taken else self._settings).seed

    def _generator(self) -> torch.Generator | None:
        """Parity mode's generator, where the step before left it.

        It begins anew, seeded as `torch.manual_seed` seeds the global one, where that step had
        another seed or was no parity step. So it depends on the recorded steps alone: rewinding,
        forking and changing a setting to and fro need no care.
        """
        if not self._settings.parity:
            return None
        seed = self._settings.seed
        generator = torch.Generator(device=self.model.device).manual_seed(seed)
        before = self._marks[-1].generator if self._marks else None
        if before is not None and before[0] == seed:
            generator.set_state(before[1])
        return generator

    def _mark(self, generator: torch.Generator | None, states: Mapping[str, object]) -> Mark:
        state = None if generator is None else (self._settings.seed, generator.get_state())
        return Mark(state, states)

    def _forget_from(self, length: int) -> None:
        """Keep the first `length` steps; at least one must go."""
        self._sequence.rewind(length)
        self._record.truncate(length)
        del self.steps[length:], self._marks[length:]
        # The settings in force stay; those that only later steps had are forgotten.
        self._settings_from = [entry for entry in self._settings_from if entry[0] < length]
        if not self._settings_from or self._settings_from[-1][1] != self._settings:
            self._settings_from.append((length, self._settings))

    def _take_past(self, other: Any) -> None:
        super()._take_past(other)
        self.guidance = other.guidance
        self.on_shaped = other.on_shaped
        self._settings_from = list(other._settings_from)
        self._record = other._record.fork()
        self._marks = list(other._marks)
