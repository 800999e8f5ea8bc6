"""The step page: it generates one token at a time and shows how each was chosen."""

from ui.components.apps import fetch_charts
from ui.step.page import step_page

fetch_charts()
step_page()
