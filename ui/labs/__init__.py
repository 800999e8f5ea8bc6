"""The decoder pages: one way of decoding each, stepped like the step page.

A lab shows one text that a strategy of `engine.decoding` generates. What all labs have in common is
here; a lab says what is its own.

    inputs.py       what a person chooses: prompt, settings; a frozen dataclass
    state.py        model, inputs and works of a page: changed, begun, recorded, restored, copied
    lab.py          such a state with a text, which `ui.playing` plays; its traces
    opening.py      a trace opened: its text made again and compared
    fields.py       fields that show an input, and change it
    transport.py    Play, Step, Back, Rewind, their keys, and what takes long
    page.py         the page: header, fields, transport, picture, experiments

Other pages keep their inputs by `state.py` as well: one clock, tokens, Compare, Tune and the
sections of measuring pages.

To add a lab:

    ui/labs/<name>/lab.py       its `Inputs`; a `Lab`: how a text begins, traces it opens, its works
    ui/labs/<name>/page.py      a `LabPage`: fields, picture, notice, stage view, experiments
    ui/labs/<name>/charts.py    pure functions from plain results to Plotly figures
    pages/<name>.py             two lines; its name in `DECODERS` of `ui/skeleton/page.py`

The smallest lab stands in `tests/ui/labs/example.py`: contrastive search in fifty lines.
"""
