"""Predict, then reveal: a person draws values, then sees the model's beside them.

    prediction.py   what is predicted, and how the truth is computed: a role
    kinds/          one file each: next token, per step, against a setting or an input, tokens
    figures.py      what a curve may show: entropy, tokens kept, time, ...
    gap.py          how far apart the two are, as one number
    view.py         on the page; the bars are `ui/components/js/apps/prediction/`

To add a kind: a `Prediction` in `kinds/`, and one line in `KINDS` there.
"""
