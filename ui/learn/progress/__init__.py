"""What a person has done, and what that is worth; predictions and quizzes note it here.

entries.py    a step read, a task solved, a prediction, an answer
progress.py   all of them; two of these joined; as a file
score.py      what an answer with a confidence is worth; calibration
points.py     what each is worth, and why
badges.py     badges, from lessons/badges/
store.py      kept by person, on disk
mine.py       that of whoever looks at the page
view.py       on the page: points, badges, calibration, export, import, forget
"""
