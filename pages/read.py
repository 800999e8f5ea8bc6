"""The page that reads an existing text."""

from ui.read.page import read_page

read_page()
