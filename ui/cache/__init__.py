"""The cache page: what a KV cache saves and costs, section by section (see `ui.measurements`).

    page.py         the page by what is its own
    sections.py     the sections, in the order of the page

To add a section:

    engine/measure/<name>.py     a `Measurement` and its result, a dataclass that a file can keep
    ui/cache/<name>/section.py   `SECTION`, a `Section`: fields, picture, notice, tables
    ui/cache/<name>/charts.py    pure functions from plain results to Plotly figures
    ui/cache/sections.py         one more line
"""
