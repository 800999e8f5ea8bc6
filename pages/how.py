"""Page on how this works: mathematics, the source of every figure, known limits, glossary."""

from ui.how.page import how_page

how_page()
