"""The claims page: sayings about language models, each as an experiment with a verdict.

    page.py          the page by what is its own (see `ui.measurements`)
    claims.py        the claims, in the order of the page
    claim.py         a claim as a section of the page: prediction, verdict, picture
    words.py         the words of `lessons/claims.toml`, with figures put in
    verdict.py       a verdict on the page: sentence, prediction, the figures that it stands on
    inputs.py        what the inputs of claims share: prediction, prompts, numbers
    charts.py        the figures that several claims share
    overview.py      all claims in one table, and run one after the other
    experiments/     the claims themselves

To add a claim:

    engine/claims/experiments/<name>.py
                              an `Experiment` and its result, with `checks`
    lessons/claims.toml       a section: topic, sentence, what would overturn it, what was
                              measured, names of figures
    ui/claims/experiments/<name>.py
                              `SECTION = claim(...)`: inputs, fields, picture, tables
    ui/claims/claims.py       one more line

The words are data, so that a teacher can change them; a test puts figures into all of them.
"""
