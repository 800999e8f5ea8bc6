"""The decoder pages: one way of decoding each, stepped like the step page.

A lab shows one text that a strategy of `engine.decoding` generates. What all labs have in common is
here; a lab says what is its own.

    inputs.py       what a person chooses: prompt, settings; a frozen dataclass
    lab.py          one visitor's text: step, back, rewind, play, record, restore, trace
    opening.py      a trace opened: its text made again and compared
    task.py         something done in a worker, with progress and Cancel
    fields.py       fields that show an input, and change it
    transport.py    Play, Step, Back, Rewind, their keys, and what takes long
    page.py         the page: header, fields, transport, picture, experiments

To add a lab:

    ui/labs/<name>/inputs.py    its `Inputs`, where there are many; else beside the lab
    ui/labs/<name>/lab.py       a `Lab` that says how a text begins, and which traces it opens
    ui/labs/<name>/page.py      a `LabPage`: fields, picture, notice, stage view, experiments
    ui/labs/<name>/charts.py    pure functions from plain results to Plotly figures
    pages/<name>.py             two lines; its name in `DECODERS` of `ui/skeleton/page.py`

The smallest lab stands in `tests/ui/labs/example.py`: contrastive search in fifty lines.
"""
