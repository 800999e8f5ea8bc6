"""The decoder pages, or labs: each shows one decoding strategy, step by step like the step page.

A lab shows one text that a strategy of `engine.decoding` generates. This folder contains the parts
that all labs share.

    inputs.py       inputs that a person chooses: prompt, settings; a frozen dataclass
    state.py        model, inputs and jobs of a page: change, start, record, restore, copy
    lab.py          a state with a text, which `ui.playing` plays; its traces
    open_trace.py   opens a trace: generates its text again and compares the two
    fields.py       fields that show and change an input
    transport.py    Play, Step, Back, Rewind, their keys, and the progress of slow work
    page.py         the page: header, fields, transport, picture, experiments

Other pages also use `state.py` for their inputs: one clock, tokens, Compare, Tune and the sections
of measuring pages.

To add a lab:

    ui/labs/<name>/lab.py       its `Inputs`; a `Lab`: how a text begins, its traces, its jobs
    ui/labs/<name>/page.py      a `LabPage`: fields, picture, notice, stage view, experiments
    ui/labs/<name>/charts.py    pure functions from plain results to Plotly figures
    pages/<name>.py             two lines; its name in `DECODERS` of `ui/shell/navigation.py`

The smallest lab is in `tests/ui/labs/example.py`: contrastive search in fifty lines.
"""
