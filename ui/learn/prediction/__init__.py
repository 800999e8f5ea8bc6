"""Predict, then reveal: a person draws values, then sees the model's beside them.

    prediction.py   what is predicted, how the truth is computed, how far apart the two are
    kinds.py        next token, per step, against a setting or an input, tokens
    figures.py      what a curve may show: entropy, tokens kept, time, ...
    view.py         on the page; the bars are `ui/components/js/apps/prediction/`

To add a kind: a `Prediction` in `kinds.py`, and its name in `AnyPrediction` there.
"""
