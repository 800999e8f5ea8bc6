"""Points and badges from a visitor's work; concepts from the course's content."""

import shutil

import pytest

from tests.ui.learn.progress.entries import answer, one_of_each, predicted, task
from ui.claims.claims import CLAIMS
from ui.learn.course import course
from ui.learn.earned import LOOP, MAP, badges, concepts, points_sentence
from ui.learn.page import concepts_table
from ui.learn.progress.entries import TaskSolved
from ui.learn.progress.progress import NOTHING, Progress
from ui.learn.quiz.questions import quiz_of
from ui.learn.source import LessonError
from ui.learn.words import read_words
from ui.words.language import LANGUAGES


def test_points_sentence_lists_points_by_activity():
    entries = [*one_of_each(), task("other", helped=True)]
    listed = "14 for 2 tasks, 8 for 1 prediction, 8.4 for 1 answer, 1 for 1 step read."
    assert points_sentence(Progress.of(entries)) == f"**31.4 points:** {listed}"
    assert points_sentence(NOTHING).startswith("**0 points.**")
    wrong = points_sentence(Progress.of([*one_of_each(), answer("wrong", right=False, sure=1.0)]))
    assert "**19 points:**" in wrong and ", 0 for 2 answers," in wrong, "never below 0"


def lacking(entries: list) -> list[str]:
    return [line.partition("Missing: ")[2] for line in badges(Progress.of(entries))]


def test_badge_lists_missing_requirements():
    near = [predicted("a", gap=0.05), predicted("b", gap=0.5)]
    alone = [task(f"t{n}") for n in range(9)]
    loop, own, eye, fit = lacking([*near, *alone, task("helped", helped=True), answer()])
    assert loop.startswith("task 2 of step Loops") and own.startswith("1 task ")
    assert eye.startswith("2 predictions ") and fit == "19 quiz answers."


@pytest.mark.parametrize(("right", "sure"), [(18, 0.9), (14, 0.8)])
def test_all_badges_can_be_earned(right, sure):
    given = [answer(f"q{n}", right=n < right, sure=sure) for n in range(20)]
    near = [predicted(f"p{n}", gap=0.01) for n in range(3)]
    loop = TaskSolved(LOOP[0], LOOP[2], 10, False)
    assert lacking([*given, *near, loop, *(task(f"t{n}") for n in range(9))]) == [""] * 4


@pytest.mark.parametrize(("right", "sure", "gap"), [(12, 0.9, 30), (20, 0.8, 20)])
def test_calibration_badge_reports_the_difference(right, sure, gap):
    given = [answer(f"q{n}", right=n < right, sure=sure) for n in range(20)]
    assert f"differ by {gap} percentage points" in lacking(given)[3]


def test_every_lesson_claim_and_question_has_its_concept():
    found = concepts()
    assert len({one.key for one in found}) == len(found)
    taught, _, asked = zip(*([query for _, query in one.links] for one in found), strict=True)
    assert {lesson.key for lesson in course().lessons} == {query["lesson"] for query in taught}
    tried = {one.place.section for one in found if one.place.page == "claims"}
    assert {claim.key for claim in CLAIMS} == tried
    quizzes = [quiz_of(lesson.quiz) for lesson in course().lessons]
    questions = {(quiz.topic, one.key) for quiz in quizzes for one in quiz.questions}
    assert questions == {(query["lesson"], query["question"]) for query in asked}


@pytest.mark.parametrize("code", LANGUAGES)
def test_concept_map_is_complete_in_every_language(code):
    found = concepts(code)
    assert all(one.topic and one.name and all(text for text, _ in one.links) for one in found)
    assert not [one.key for one in found if one.links[1][0].endswith(": ")]
    words = read_words(MAP)[code].entries
    assert len(words) == 1 + len({one.topic for one in found}) + len(found)


def test_search_and_links_of_concepts():
    assert all(one.holds("  ") for one in concepts())
    assert [one.key for one in concepts() if one.holds("RANDOM draws token")] == ["draw"]
    (draw,) = [one for one in concepts() if one.key == "draw"]
    table = concepts_table([draw], {"path": "hour"})
    for query in ("lesson=the_loop&amp;step=round", "try=draw"):
        assert f'href="?path=hour&amp;{query}"' in table
    assert table.count("<a ") == 3 and 'data-name="Experiment"' in table


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"the_loop/round"', '"the_loop/rounds"', "one_step.concepts.forward_pass.lesson names"),
        ('page = "step"', 'page = "steps"', "one_step.concepts.forward_pass.try.page must"),
    ],
)
def test_map_mistake_is_reported_with_its_place(tmp_path, monkeypatch, before, after, said):
    shutil.copytree(MAP, tmp_path / "lessons" / "map")
    monkeypatch.setattr("ui.learn.earned.MAP", tmp_path / "lessons" / "map")
    file = tmp_path / "lessons" / "map" / "map.toml"
    file.write_text(file.read_text("utf-8").replace(before, after, 1), "utf-8")
    with pytest.raises(LessonError) as refused:
        concepts("fr")
    assert str(refused.value).startswith(f"map/map.toml: topics.{said}")
