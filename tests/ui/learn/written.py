"""A small lesson written into a folder, with any changes that a test wants."""

from pathlib import Path

LESSON = """
minutes = 3
[[steps]]
key = "read"
[[steps]]
key = "press"
[steps.panel]
kind = "step"
prompt = "The capital of France is"
parts = ["transport", "table"]
samplers = ["temperature"]
[[steps.tasks]]
key = "two"
solved = [{ check = "generated", at_least = 2 }]
solution = [{ do = "step", times = 2 }]
[[steps.tasks.mistakes]]
key = "forced"
when = [{ check = "forced", at_least = 1, as = "hands" }]
actions = [{ do = "force", token = " Rome" }]
"""
WORDS = """
# Two tokens
Its goal.

## read: To be read
Text alone.

## press: Press Step
Press it.

### two: Press **Step** twice.

#### solved
There are {generated}.

#### hint
It is the blue button.

#### forced
You forced {hands} of {generated}.
"""


def write(folder: Path, lesson: str = LESSON, words: str = WORDS, **languages: str) -> Path:
    """Write the files of a lesson into the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "lesson.toml").write_text(lesson, "utf-8")
    (folder / "en.md").write_text(words, "utf-8")
    for language, text in languages.items():
        (folder / f"{language}.md").write_text(text, "utf-8")
    return folder
