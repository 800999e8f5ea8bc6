"""The page on which every decoder continues one prompt, under one clock."""

from ui.labs.one_clock.page import one_clock_page

one_clock_page()
