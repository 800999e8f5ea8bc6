"""The smallest possible lab: contrastive search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import streamlit as st

from engine.decoding.contrastive import ContrastiveSearch
from engine.model import LanguageModel
from ui.labs import fields
from ui.labs.inputs import Inputs
from ui.labs.lab import Lab
from ui.labs.page import LabPage


@dataclass(frozen=True)
class SearchInputs(Inputs):
    """Inputs of contrastive search."""

    prompt: str = "Once upon a time"
    top_k: int = 4
    penalty_alpha: float = 0.6
    note: str | None = None


class SearchLab(Lab[SearchInputs, ContrastiveSearch]):
    """One text of contrastive search."""

    name: ClassVar[str] = "search"
    inputs_class: ClassVar[type[Inputs]] = SearchInputs

    def begun(self, model: LanguageModel, inputs: SearchInputs) -> ContrastiveSearch:
        return ContrastiveSearch(model, inputs.prompt, inputs.top_k, inputs.penalty_alpha)

    def goes_on_with(self, inputs: SearchInputs) -> bool:
        if (inputs.prompt, inputs.top_k) != (self.inputs.prompt, self.inputs.top_k):
            return False
        self.text.penalty_alpha = inputs.penalty_alpha
        return True


def _fields(lab: SearchLab) -> None:
    fields.prompt(lab, {"Story": "Once upon a time"})
    with fields.row():
        fields.whole(lab, "top_k", "Candidates", 1, 64)
        fields.real(lab, "penalty_alpha", "Penalty")


def _picture(lab: SearchLab) -> None:
    st.text(lab.text.text)


def _notice(lab: SearchLab) -> str:
    changed = sum(step.chosen > 0 for step in lab.text.steps)
    return f"The penalty changed {changed} of {len(lab.text.steps)} tokens."


PAGE = LabPage(
    SearchLab,
    "Contrastive search",
    "It penalises what repeats.",
    _fields,
    _picture,
    _notice,
)
