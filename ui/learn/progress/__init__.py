"""A person's progress: predictions and quizzes note it here, `ui.learn.earned` counts it.

entries.py    a step read, a task solved, a prediction, an answer; the worth of an answer
progress.py   all entries; merging; export to a file and import
store.py      kept by person, on disk
mine.py       the progress of the person at the page
view.py       on the page: export, import, forget
"""
