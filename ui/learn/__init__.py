"""Lessons: texts with live parts of the app, and tasks that check a person's actions.

    lesson.py      a lesson as its files describe it; source.py and words.py read them
    checks.py      conditions on a panel's measures; functions.py: names that lessons may use
    panels/        the live parts, each kind with its measures and actions
    prediction/    predict, then reveal; quiz/: questions with a confidence
    progress/      a person's progress, kept beyond the tab
    earned.py      points and badges; every concept with its lesson, experiment and question
    course.py      the lessons in order; paths.py: ways through them for a given time
    learning.py    a visitor's state, and their live panels
    page.py        the list, one lesson; step_view.py: one step of a lesson
    command.py     `make lesson`: tries a lesson without a browser, solutions and mistakes
    connect.py     step panels on the live channel; panel_channel.py is loaded with the engine

`lessons/README.md` explains how to write one.
"""
