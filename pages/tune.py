"""The tune page: two settings over a grid, and what they make of your own prompts."""

from ui.tune.page import tune_page

tune_page()
