"""Quizzes: one question at a time, answered with a confidence.

questions.py   questions as data, from lessons/<key>/quiz/, and the places to try them out
view.py        on the page
"""
