"""The tune page: two settings over a grid, and their effect on your own prompts."""

from ui.tune.page import tune_page

tune_page()
