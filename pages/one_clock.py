"""The page that times every decoder on one prompt."""

from ui.labs.one_clock.page import one_clock_page

one_clock_page()
