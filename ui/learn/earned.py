"""The concepts to learn, and the points and badges that a person has earned.

Concepts come from `lessons/map/`: the structure is in map.toml, the words are under the same keys.

Points and badges follow from the entries of a person's progress, and are not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from msgspec import field

from ui.learn.course import FOLDER, course
from ui.learn.progress.entries import TaskSolved
from ui.learn.progress.progress import Progress
from ui.learn.quiz.questions import AnyPlace, Place, quiz_of
from ui.learn.source import Written, check_known, read_file, reading
from ui.learn.words import ENGLISH, read_words
from ui.words.labels import counted
from ui.words.language import language, marked, say, say_counted, speaking

MAP = FOLDER / "map"
ALONE, HELPED, PREDICTION, STEP = 10, 4, 10, 1  # points: of a task, a prediction at most, a step
LOOP = "greedy", "loops", "loops/broken"  # lesson, step and task of the first badge
TASKS, PREDICTIONS, ANSWERS = 10, 3, 20  # numbers that the other badges ask for
CLOSENESS, WITHIN = 0.9, 10  # of such a prediction; of confidence, in percentage points
BADGES = {  # each with its reason
    marked("Broke a loop"): marked("You broke a greedy loop without changing the prompt."),
    marked("On your own"): marked("You solved ten tasks without seeing a solution."),
    marked("Good eye"): marked("You made three predictions that came within a tenth of the scale."),
    marked("Calibrated within 10 percentage points"): marked(
        "Your confidence matches your share of right answers, over 20 answers or more."
    ),
}


@dataclass(frozen=True)
class Concept:
    """A concept to learn.

    Attributes:
        key: its name in addresses.
        topic, name: in one language.
        place: the page of its experiment.
        links: its lesson, experiment and question: the text and the address query of each.
    """

    key: str
    topic: str
    name: str
    place: Place
    links: tuple[tuple[str, dict[str, str]], ...]

    def holds(self, typed: str) -> bool:
        """Return whether every word of a search occurs in the concept's row."""
        said = " ".join([self.topic, self.name, *(text for text, _ in self.links)]).lower()
        return all(word in said for word in typed.lower().split())


class _Row(Written):
    key: str
    lesson: str
    question: str
    place: AnyPlace = field(name="try")


class _Topic(Written):
    key: str
    concepts: tuple[_Row, ...]


class _Map(Written):
    topics: tuple[_Topic, ...]


@cache
def concepts(code: str = ENGLISH) -> tuple[Concept, ...]:
    """Return all concepts in order, in a language; raises `LessonError`."""
    lessons, languages = course().lessons, read_words(MAP)
    words = languages.get(code, languages[ENGLISH])
    taught, asked = {}, {}
    for lesson in lessons:
        said = lesson.words(code)
        for step in lesson.steps:
            title = f"{said.entry('').title}: {said.entry(step.key).title}"
            query = {"lesson": lesson.key, "step": step.key}
            taught[f"{lesson.key}/{step.key}"] = title, query
        for one in quiz_of(lesson.quiz, code).questions if lesson.quiz else ():
            query = {"lesson": lesson.key, "question": one.key}
            asked[f"{lesson.key}/{one.key}"] = one.text, query
    file, found = MAP / "map.toml", []
    for topic in read_file(file, _Map).topics:
        for row in topic.concepts:
            with reading(file, f"topics.{topic.key}.concepts.{row.key}"):
                check_known("lesson", [row.lesson], taught)
                check_known("question", [row.question], asked)
            said = words.entry(f"{topic.key}/{row.key}")
            with speaking(code):
                tried = say("{page}: {what}", page=row.place.title, what=said.text)
            links = taught[row.lesson], (tried, {"try": row.key}), asked[row.question]
            title = words.entry(topic.key).title
            found.append(Concept(row.key, title, said.title, row.place, links))
    return tuple(found)


def points_sentence(progress: Progress) -> str:
    """Describe the points and their sources; wrong answers never cost more than right ones gave."""
    if not len(progress):
        return say("**0 points.** Solve a task, predict, or answer a question to collect some.")
    tasks, predicted, answers = progress.tasks, progress.predictions, progress.answers
    read = counted(len(progress.steps), "step")
    worth = {
        counted(len(tasks), "task"): sum(HELPED if one.helped else ALONE for one in tasks),
        counted(len(predicted), "prediction"): PREDICTION * sum(p.closeness for p in predicted),
        counted(len(answers), "answer"): max(0, sum(one.points for one in answers)),
        say("{steps} read", steps=read): STEP * len(progress.steps),
    }
    parts = [
        say("{points} for {what}", points=figure(value), what=what) for what, value in worth.items()
    ]
    total = figure(sum(worth.values()))
    return say("**{points} points:** {listed}.", points=total, listed=", ".join(parts))


def figure(points: float) -> str:
    """Format points: ``8``, ``8.4``."""
    return f"{points:.1f}".removesuffix(".0")


def badges(progress: Progress) -> list[str]:
    """Return a line for each badge: its reason if it is earned, else the part still missing."""
    lesson, step, task = LOOP
    words = course().lesson(lesson).words(language())
    places = [each.place for each in course().lesson(lesson).step(step).tasks]
    loop = say(
        "Missing: task {number} of step {step} in lesson {lesson}.",
        number=places.index(task) + 1,
        step=words.entry(step).title,
        lesson=words.entry("").title,
    )
    tasks = TASKS - sum(not one.helped for one in progress.tasks)
    alone = say_counted(
        tasks,
        "Missing: {count} task that you solve without seeing its solution.",
        "Missing: {count} tasks that you solve without seeing the solutions.",
    )
    predictions = PREDICTIONS - sum(one.closeness >= CLOSENESS for one in progress.predictions)
    close = say_counted(
        predictions,
        "Missing: {count} prediction that comes within a tenth of the scale.",
        "Missing: {count} predictions that come within a tenth of the scale.",
    )
    summary = progress.calibration
    answers = ANSWERS - (summary.answers if summary else 0)
    gap = abs(round(100 * summary.excess)) if summary else 0
    fit = say(
        "Missing: a closer fit. Your confidence and your share of right answers differ by "
        "{gap} percentage points, and may differ by at most {most}.",
        gap=gap,
        most=WITHIN,
    )
    if answers > 0:
        fit = say_counted(
            answers, "Missing: {count} quiz answer.", "Missing: {count} quiz answers."
        )
    missing = [
        loop if progress.find(TaskSolved, lesson, task) is None else "",
        alone if tasks > 0 else "",
        close if predictions > 0 else "",
        fit if answers > 0 or gap > WITHIN else "",
    ]
    return [
        f"**{say(name)}.** {lacks}"
        if lacks
        else f":material/check_circle: **{say(name)}.** {say(earned)}"
        for (name, earned), lacks in zip(BADGES.items(), missing, strict=True)
    ]
