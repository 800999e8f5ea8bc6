"""The page that puts what people say of language models to the test."""

from ui.claims.page import PAGE

PAGE.draw()
