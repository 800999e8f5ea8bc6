"""Keep what a person has done; predictions and quizzes note it here, `ui.learn.earned` counts it.

entries.py    a step read, a task solved, a prediction, an answer; what an answer is worth
progress.py   all of them; two of these joined; as a file
store.py      kept by person, on disk
mine.py       that of the person who looks at the page
view.py       on the page: export, import, forget
"""
