"""The step page: one token at a time, and everything that led to it."""

from ui.components.step import fetch_charts

fetch_charts()

from ui.step.page import step_page  # noqa: E402 - with PyTorch, which takes seconds the first time

step_page()
