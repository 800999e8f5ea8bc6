"""The page that tests what people say about language models."""

from ui.claims.page import PAGE

PAGE.draw()
