"""Measuring pages: lists of sections, of which one is visible at a time.

    section.py      the definition of a section
    section_state.py a visitor's state of a section: inputs, work, errors
    state.py        a visitor's state of the page: one or two models, their results, a file
    job.py          a measurement in the background
    page.py         the page: choice of the section and of a second model, fields, results, files
    drawing.py      tables, charts and sentences that sections share

A hidden section continues measuring, and keeps its results. `ui.cache` and `ui.claims` are such
pages, and explain how to add a section. The smallest section is in
`tests/ui/measurements/example.py`.
"""
