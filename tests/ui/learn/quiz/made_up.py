"""A quiz in its own folder."""

from pathlib import Path

STRUCTURE = """
[[questions]]
key = "passes"
answers = ["one", "all"]
right = "one"
try = { page = "step", prompt = "Once", settings = { temperature = 0 } }

[[questions]]
key = "second"
answers = ["yes", "no", "both"]
right = "no"
try = { page = "tune" }
"""
WORDS = """
# Passes
## passes: What does a pass give?
Press Step.
### one: One token.
One at a time.
### all: All tokens.
There is no room.
## second: Is it so?
Look.
### yes: Yes.
It is not.
### no: No.
It is not so.
### both: Both.
It cannot be both.
"""


def made_up(
    lessons: Path, structure: str = STRUCTURE, words: str = WORDS, **languages: str
) -> Path:
    """Write a quiz into a folder among lessons; `languages` are additional files of words."""
    folder = lessons / "lessons" / "made_up" / "quiz"
    folder.mkdir(parents=True)
    (folder / "quiz.toml").write_text(structure, "utf-8")
    for language, text in {"en": words, **languages}.items():
        (folder / f"{language}.md").write_text(text, "utf-8")
    return folder
