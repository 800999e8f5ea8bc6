"""A text read from a trace alone because no model can make it again; it is read-only."""

from __future__ import annotations

import math
from dataclasses import astuple
from itertools import count
from types import SimpleNamespace
from typing import Any, Self

from engine.errors import TraceError
from engine.model import Vocabulary, readable
from engine.sampling import SamplingSettings
from engine.trace import Step, Trace
from ui.texts.settings import plain_settings
from ui.words.language import say


class _Spelled(Vocabulary):
    """The tokens that a trace names."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(None, trace.model["vocab_size"])
        self._spelled = {step.token_id: step.token_bytes for step in trace.steps} | trace.tokens

    def token_bytes(self, token_id: int) -> bytes:
        return self._spelled.get(token_id, b"")

    def label(self, token_id: int) -> str:
        spelled = self.token_bytes(token_id)
        return readable(spelled) if spelled else super().label(token_id)


class RecordedText:
    """The steps of a trace as a text for the step page, without methods that would change it.

    Attributes:
        read_only: the reason, as a sentence.
        model: the facts that the trace records about it.

    Raises:
        TraceError: a brief trace, or one without settings.
    """

    pending_bytes = b""
    tokens_left = cache_formula = None
    on_shaped: Any = None

    def __init__(self, trace: Trace, read_only: str) -> None:
        self.read_only = read_only
        self._trace = trace
        self.settings_at(0)
        if trace.is_brief:
            raise TraceError(say("The trace has no figures that could be read without its model."))
        facts, has_logits = (
            trace.model,
            all(getattr(s, "logit", 0.0) is not None for s in trace.steps),
        )
        self.model = SimpleNamespace(
            name=facts.get("name", ""),
            source=facts.get("source", ""),
            revision=facts.get("revision"),
            vocabulary=_Spelled(trace),
            vocab_size=facts["vocab_size"],
            context_length=facts.get("context_length"),
            listed=None,
            capabilities=frozenset({"logits"} if has_logits else ()),
            facts=facts,
        )
        self.steps = list(trace.steps)
        self.prompt_ids, self.token_ids = list(trace.prompt_ids), trace.token_ids
        self.text, self.stop_reason, self.stop_strings = (
            trace.text,
            trace.stop_reason,
            trace.stop_strings,
        )
        self.guidance = trace.guidance

    @property
    def settings(self) -> SamplingSettings:
        """The settings of the step to come."""
        return self.settings_at(len(self.steps))

    def settings_at(self, index: int) -> SamplingSettings:
        """Return the settings that a step was taken with; for a search, its samplers."""
        values = self._trace.settings_at(index)
        known = {name: values[name] for name in ("seed", "parity") if name in values}
        return SamplingSettings.from_dict({"chain": values.get("chain", []), "seed": 0, **known})

    @property
    def guidance_scale(self) -> float:
        """The scale of guidance; 1 without guidance."""
        return self.guidance.scale if self.guidance else 1.0

    def trace(self) -> Trace:
        """Return the trace that it was read from."""
        return self._trace

    outline = trace

    def fork(self) -> Self:
        """Return this text itself: nothing changes it."""
        return self

    def release_rows(self) -> bool:
        """Release nothing: there are no rows."""
        return False

    release_cache = release_rows

    def shown(self, index: int) -> dict[str, Any]:
        """Return the trace's record of a step, for the browser: its leading tokens and settings.

        A row is id, rank, score, the model's own probability and the one in the draw. The token
        taken comes last if it is not among the leading ones. A search has candidates instead.
        """
        step, rows = self.steps[index], []
        if isinstance(step, Step):
            score = step.logprob if step.logit is None else step.logit
            taken = (step.token_id, step.rank, score, math.exp(step.logprob), step.probability)
            if step.leading:
                ids, scores, drawn = astuple(step.leading)
                rows = list(zip(ids, count(1), scores, step.model_probabilities, drawn))
            rows = [taken if row[0] == step.token_id else row for row in rows]
            rows += [] if taken in rows else [taken]
        settings = plain_settings(self.settings_at(index))
        return {"index": index, "chosen": step.token_id, "rows": rows, "settings": settings}
