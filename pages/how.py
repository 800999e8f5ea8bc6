"""How this works: the mathematics, where every figure comes from, known limits, the glossary."""

from ui.how.page import how_page

how_page()
