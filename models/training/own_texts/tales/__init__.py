"""Simple stories of our own, written from plots in a small grammar.

A model of a few million parameters learns from few texts who does what and why only if the texts
say it plainly and often. The corpus has one million tokens of such stories. These add more: every
tale keeps its people, things and reasons straight from beginning to end, in words that vary.

`plot`      a plot, how it is written, and how it is told
`words`     the people, animals, things and places that fill it
`plots/`    the plots, one file a theme
`tales`     many different tales from all plots, from a seed
"""

from models.training.own_texts.tales.telling import tales

__all__ = ["tales"]
