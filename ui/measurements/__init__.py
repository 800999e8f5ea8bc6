"""Pages that measure: a list of sections in one frame, one visible at a time.

    section.py      definition of a section
    section_state.py a visitor's state of a section: inputs, work, errors
    state.py        a visitor's state of the page: one or two models, their results, a file
    work.py         a measurement in the background
    page.py         the page: choice of the section and of a second model, fields, results, files
    drawing.py      tables, charts and sentences that sections share

Work of a hidden section continues, and its results stay. `ui.cache` and `ui.claims` are such pages.
Each is a list of sections, and explains how to add one. The smallest section is in
`tests/ui/measurements/example.py`.
"""
