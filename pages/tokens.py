"""The page on which a text is cut into tokens."""

from ui.tokens.page import tokens_page

tokens_page()
