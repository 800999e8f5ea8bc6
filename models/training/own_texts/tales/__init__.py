"""Our own simple stories, written from plots in a small grammar.

From few texts, a model of a few million parameters learns who does what and why only if they say it
plainly and often. The corpus has one million tokens of such stories. These add more: every tale
keeps its people, things and reasons consistent from beginning to end, in varying words.

`plot`      a plot: its file format, and the stories from it
`words`     the people, animals, things and places that fill it
`plots/`    the plots, one file per theme
`tales`     many different tales from all plots, from a seed
"""

from models.training.own_texts.tales.telling import tales

__all__ = ["tales"]
