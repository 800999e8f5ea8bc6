"""The page that tests common claims about language models."""

from ui.claims.page import PAGE

PAGE.draw()
