"""Quizzes: one question at a time, answered with a confidence.

questions.py   questions as data, from lessons/<key>/quiz/
places.py      where a question can be tried out: a page and its state
view.py        on the page
"""
