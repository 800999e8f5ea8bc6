"""The cache page: what a KV cache saves and costs, section by section.

    section.py      what a section is
    sections.py     the sections, in the order of the page
    held.py         what a visitor has of a section: inputs, work, what went wrong
    state.py        what a visitor has of the page: model, chosen section, a measurement laid over
    work.py         a measurement in the background
    page.py         the page: choice of the section, its fields, its results
    export.py       tables as CSV, everything as JSON, a measurement of another machine laid over

One section is drawn at a time; work of the others goes on, and their results stay.

To add a section:

    engine/measure/<name>.py     a `Measurement` and its result, a dataclass that a file can keep
    ui/cache/<name>/section.py   `SECTION`, a `Section`: fields, picture, notice, tables
    ui/cache/<name>/charts.py    pure functions from plain results to Plotly figures
    ui/cache/sections.py         one more line

The smallest section stands in `tests/ui/cache/example.py`.
"""
