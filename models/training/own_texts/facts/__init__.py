"""Our own everyday facts, each in many wordings.

A model that reads a fact in one wording knows it only in that wording. After many wordings, it can
also answer in others (Allen-Zhu and Li 2023, "Physics of Language Models 3.1", arXiv:2309.14316).
The evaluation's wordings are not among these.

`table`     facts of one sort with their wordings; the file format
`tables/`   the tables, one file per subject
`passages`  many short passages, from a seed
"""

from models.training.own_texts.facts.telling import passages

__all__ = ["passages"]
