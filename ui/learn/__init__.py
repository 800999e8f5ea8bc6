"""Lessons: texts beside live parts of the app, with tasks that look at what a person did.

    lesson.py      a lesson as its files describe it; source.py and words.py read them
    checks.py      conditions over what a panel measures; functions.py: what lessons may name
    panels/        the live parts, each kind with its measures and actions
    prediction/    predict, then reveal; quiz/: questions with a confidence
    progress/      what a person has done, kept beyond the tab
    earned.py      points and badges; every concept with its lesson, experiment and question
    course.py      the lessons in order; paths.py: ways through them for a given time
    learning.py    what a visitor has done, and their live panels
    page.py        the list, one lesson; step_view.py: one step of it
    command.py     `make lesson`: tries a lesson without a browser, solutions and mistakes
    live.py        step panels on the live channel; panel_channel.py is loaded with the engine

`lessons/README.md` says how to write one.
"""
