"""The compare page: several settings side by side on one prompt."""

from ui.compare.page import compare_page

compare_page()
