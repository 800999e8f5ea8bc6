"""The beam search page."""

from ui.labs.beam.page import PAGE

PAGE.draw()
