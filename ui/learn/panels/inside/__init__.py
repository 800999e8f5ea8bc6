"""The inside of the model, shown only in lessons; all values are computed at once, without timing.

panel.py      the panel and its measures for checks
weights.py    the number of weights in each part, and some of them
attention.py  a head's weights over the tokens of a text
loss.py       the loss of a text, token by token
training.py   the loss while the model was trained
"""
