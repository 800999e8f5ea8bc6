"""Everyday facts of our own, each said in many wordings.

A model that reads a fact in one wording knows it in that wording only; read in many, it can answer
in others too (Allen-Zhu and Li 2023, "Physics of Language Models 3.1", arXiv:2309.14316). The
wordings that the evaluation asks in are not among these.

`table`     facts of one sort and the wordings that say them; how that is written
`tables/`   the tables, one file a subject
`passages`  many short passages, from a seed
"""

from models.training.own_texts.facts.telling import passages

__all__ = ["passages"]
