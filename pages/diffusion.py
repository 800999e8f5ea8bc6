"""The diffusion page: each step fills several masked positions of a canvas at once."""

from ui.labs.diffusion.page import PAGE

PAGE.draw()
