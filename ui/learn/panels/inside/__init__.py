"""The inside of the model, in lessons alone: nothing is measured, all is read off at once.

panel.py      the panel and what checks may ask
weights.py    how many weights each part has, and some of them
attention.py  how a head weighs the tokens of a text
loss.py       the loss of a text, token by token
training.py   the loss while the model was trained
"""
