"""Beam search: the best few hypotheses, all continued together.

search.py         the loop: read the beams, rank their continuations, keep the best
scores.py         the scores a step ranks by: log-probabilities after the samplers
continuations.py  hypotheses and their best continuations; needs no model
choice.py         the choice to keep, prune or finish; needs no model
settings.py       its settings, checked
results.py        its results: hypotheses, tokens that may follow a beam
kept_rows.py      logits of its steps, freed if memory is short
"""

from engine.decoding.beam.results import Hypothesis, NextToken, NextTokens
from engine.decoding.beam.search import BeamSearch
from engine.decoding.beam.settings import MOST_BEAMS, BeamSettings

__all__ = ["MOST_BEAMS", "BeamSearch", "BeamSettings", "Hypothesis", "NextToken", "NextTokens"]
