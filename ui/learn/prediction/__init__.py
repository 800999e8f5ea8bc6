"""Predict, then reveal: a person draws values, then sees the model's next to them.

    prediction.py   predictions, the truth, and the gap between the two
    kinds.py        next token, per step, against a setting or an input, tokens
    figures.py      figures for curves: entropy, tokens kept, time, ...
    view.py         on the page; the bars are `ui/components/js/apps/prediction/`

To add a kind: a `Prediction` in `kinds.py`, and its name in `AnyPrediction` there.
"""
