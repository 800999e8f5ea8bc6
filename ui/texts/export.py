"""Export of a text's settings as code for other programs, in the visitor's language."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.decoding import UNGUIDED
from engine.export import ChatPrompt, Remark, Snippet, snippets
from engine.model import (
    BUNDLED,
    BUNDLED_DRAFT,
    BUNDLED_DRAFT_FOLDER,
    BUNDLED_FOLDER,
    LanguageModel,
)
from engine.sampling import SamplingSettings
from engine.values import ChatMessage
from ui.texts.texts import Contrastive, messages
from ui.words.errors import told


def settings_as_code(
    model: LanguageModel,
    settings: SamplingSettings,
    prompt: str,
    *,
    chat: bool,
    before: Sequence[ChatMessage] = (),
    max_tokens: int,
    stop_strings: tuple[str, ...],
    negative_prompt: str | None = None,
    guidance_scale: float = UNGUIDED,
    strategy: Contrastive | None = None,
) -> list[Snippet]:
    """Return settings, prompts and stop rules as code for other programs.

    Raises:
        SettingError: no program could run the settings, for example with zero tokens to generate.
    """

    def read(text: str) -> str | ChatPrompt:
        words = model.vocabulary
        if not chat:
            return text
        turns = messages(text, before)
        return ChatPrompt(
            tuple(words.chat_ids(turns)), words.chat(turns), tuple(words.chat_messages(turns))
        )

    is_local = "weights" in model.capabilities
    folders = {BUNDLED: BUNDLED_FOLDER, BUNDLED_DRAFT: BUNDLED_DRAFT_FOLDER}
    bundled = {source: os.path.relpath(folder) for source, folder in folders.items()}
    found = snippets(
        settings,
        read(prompt),
        model=bundled.get(model.source, _place(model) if is_local else model.name),
        max_tokens=max_tokens,
        stop_strings=stop_strings,
        eos_ids=model.eos_ids,
        dtype=str(model.facts.get("dtype", "auto")) if is_local else "auto",
        negative_prompt=None if negative_prompt is None else read(negative_prompt),
        guidance_scale=guidance_scale,
        contrastive=None if strategy is None else (strategy.top_k, strategy.penalty_alpha),
    )
    return [replace(one, lacking=_told(one.lacking), differs=_told(one.differs)) for one in found]


def _place(model: LanguageModel) -> str:
    """Return a model's source for other programs; that of a GGUF file is its converted copy."""
    return model.hf.name_or_path if model.quantisation else model.source


def _told(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    return tuple((name, told(why)) for name, why in remarks)
