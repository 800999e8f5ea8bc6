"""Beam search: the best few hypotheses, all carried on together.

search.py         the loop: read the beams, rank their continuations, keep the best
scores.py         what a step ranks by: log-probabilities after the samplers
continuations.py  hypotheses as they grow, the best ways to go on; reads no model
choice.py         what a step keeps, prunes and finishes; reads no model
settings.py       how it chooses, checked
results.py        what may be asked: hypotheses, what may follow a beam
kept_rows.py      logits of its steps
"""

from engine.decoding.beam.results import Hypothesis, NextToken, NextTokens
from engine.decoding.beam.search import BeamSearch
from engine.decoding.beam.settings import MOST_BEAMS, BeamSettings

__all__ = ["MOST_BEAMS", "BeamSearch", "BeamSettings", "Hypothesis", "NextToken", "NextTokens"]
