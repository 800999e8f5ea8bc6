"""Pages that measure: a list of sections in one frame, one of them in sight at a time.

    section.py      what a section is
    held.py         what a visitor has of a section: inputs, work, what went wrong
    state.py        what a visitor has of the page: a model or two, what is measured of each, a file
    work.py         a measurement in the background
    page.py         the page: choice of the section and of a second model, fields, results, files
    measured.py     tables, charts and sentences that sections share

Work of a section that is not in sight goes on, and its results stay. `ui.cache` and `ui.claims` are
such pages: each is a list of sections, and says how to add one. The smallest section stands in
`tests/ui/measurements/example.py`.
"""
