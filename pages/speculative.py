"""The speculative decoding page: the text is generated round by round."""

from ui.labs.speculative.page import PAGE

PAGE.draw()
