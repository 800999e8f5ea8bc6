"""Quizzes: one question at a time, answered with a confidence.

questions.py   questions as data, from lessons/<key>/quiz/, and where each can be tried out
view.py        on the page
"""
