"""The compare page: several settings side by side on one prompt."""

from ui.compare import compare_page

compare_page()
