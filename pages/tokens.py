"""The page that tokenizes a text and shows its tokens."""

from ui.tokens.page import tokens_page

tokens_page()
