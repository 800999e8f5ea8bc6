"""The constrained decoding page: choices, a regex, a schema or a grammar limits the text."""

from ui.labs.constrained.page import PAGE

PAGE.draw()
