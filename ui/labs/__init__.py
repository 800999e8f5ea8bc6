"""The decoder pages: each has one way of decoding, stepped like the step page.

A lab shows one text that a strategy of `engine.decoding` generates. This folder holds the common
parts of all labs; a lab adds its own.

    inputs.py       inputs that a person chooses: prompt, settings; a frozen dataclass
    state.py        model, inputs and works of a page: changed, begun, recorded, restored, copied
    lab.py          such a state with a text, which `ui.playing` plays; its traces
    open_trace.py   a trace opened: its text made again and compared
    fields.py       fields that show an input, and change it
    transport.py    Play, Step, Back, Rewind, their keys, and the progress of slow work
    page.py         the page: header, fields, transport, picture, experiments

Other pages also keep their inputs with `state.py`: one clock, tokens, Compare, Tune and the
sections of measuring pages.

To add a lab:

    ui/labs/<name>/lab.py       its `Inputs`; a `Lab`: how a text begins, traces it opens, its works
    ui/labs/<name>/page.py      a `LabPage`: fields, picture, notice, stage view, experiments
    ui/labs/<name>/charts.py    pure functions from plain results to Plotly figures
    pages/<name>.py             two lines; its name in `DECODERS` of `ui/shell/navigation.py`

The smallest lab is in `tests/ui/labs/example.py`: contrastive search in fifty lines.
"""
