"""Quizzes: one question at a time, answered with a confidence.

questions.py   questions as data, from lessons/<key>/quiz/
places.py      where a question can be tried out: a page and its state
score.py       what an answer with a confidence is worth; calibration
view.py        on the page
"""
