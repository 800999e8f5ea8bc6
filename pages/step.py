"""The step page: one token at a time, and everything that led to it."""

from ui.components.apps import fetch_charts
from ui.step.page import step_page

fetch_charts()
step_page()
