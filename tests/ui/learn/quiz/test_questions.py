"""Questions as data: every mistake in a file gives a sentence with file, key and remedy."""

from collections import Counter

import pytest

from tests.ui.learn.quiz.made_up import STRUCTURE, WORDS, made_up
from ui.learn.course import course
from ui.learn.quiz.questions import quiz_of
from ui.learn.source import LessonError


def test_a_quiz_has_its_questions_answers_and_reasons(tmp_path):
    quiz = quiz_of(made_up(tmp_path))
    assert (quiz.topic, quiz.title) == ("made_up", "Passes")
    passes, second = quiz.questions
    assert (passes.text, passes.right) == ("What does a pass give?", "one")
    assert passes.trying == "Press Step."
    assert [(a.key, a.text, a.reason) for a in passes.answers] == [
        ("one", "One token.", "One at a time."),
        ("all", "All tokens.", "There is no room."),
    ]
    assert passes.right_answer.key == "one" and passes.answer("gone") is None
    assert (passes.place.title, second.place.title) == ("Step", "Tune")


def test_missing_translation_falls_back_to_english(tmp_path):
    german = (
        "# Durchläufe\n## passes: Was gibt ein Durchlauf?\nDrücke Step.\n### one: Ein Token.\nJa."
    )
    folder = made_up(tmp_path, de=german)
    passes, second = quiz_of(folder, "de").questions
    assert passes.text == "Was gibt ein Durchlauf?"
    assert [answer.text for answer in passes.answers] == ["Ein Token.", "All tokens."]
    assert second.text == "Is it so?"
    assert quiz_of(folder, "fr").questions[0].text == "What does a pass give?"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('right = "one"', 'right = "two"', 'passes.right names "two"'),
        ('"one", "all"]', '"one", "one"]', 'passes.answers has the key "one" twice'),
        ('answers = ["one", "all"]', 'answers = ["one"]', "answers must be a list"),
        ('key = "second"', 'key = "passes"', 'questions has the key "passes" twice'),
        ('page = "tune"', 'page = "tunes"', "questions.second.try.page must be"),
        ('"tune"', '"tune", prompt = "x"', "try.prompt is not known"),
        ("temperature = 0 ", "temperature = -1 ", "try.settings is refused: temperature"),
        ("temperature = 0 ", "heat = 0 ", "try.settings is refused: heat"),
        ('"tune"', '"beam", width = "four"', "second.try.width must be"),
        ('"tune"', '"cache", section = "x"', 'try.section names "x"'),
    ],
)
def test_structure_mistake_is_reported_with_a_remedy(tmp_path, old, new, said):
    assert old in STRUCTURE
    folder = made_up(tmp_path, STRUCTURE.replace(old, new, 1))
    with pytest.raises(LessonError) as refused:
        quiz_of(folder)
    sentence = str(refused.value)
    assert sentence.startswith("made_up/quiz/quiz.toml: ") and said in sentence
    assert ";" in sentence, "and its remedy"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("### all: All tokens.\nThere is no room.\n", "", "passes/all lacks words"),
        ("Look.\n", "", "second lacks words"),
        ("### both", "### bath", "second/both lacks words"),
        ("# Passes", "# Passes\n## third: Old.\nx", "third is no"),
    ],
)
def test_wording_mistake_is_reported_with_its_file(tmp_path, old, new, said):
    assert old in WORDS
    folder = made_up(tmp_path, words=WORDS.replace(old, new, 1))
    with pytest.raises(LessonError) as refused:
        quiz_of(folder)
    assert str(refused.value).startswith("made_up/quiz/en.md: ") and said in str(refused.value)


def test_every_lesson_has_questions_with_balanced_answers():
    found = [quiz_of(lesson.quiz) for lesson in course().lessons]
    assert [quiz.topic for quiz in found] == [lesson.key for lesson in course().lessons]
    questions = [question for quiz in found for question in quiz.questions]
    assert all(len(quiz.questions) >= 2 for quiz in found)
    places = Counter(
        [answer.key for answer in question.answers].index(question.right) for question in questions
    )
    # Among two to four answers, always choosing one place must not be worth more than a guess.
    assert max(places.values()) <= 0.45 * len(questions), places
    longest = sum(
        max(question.answers, key=lambda answer: len(answer.text)).key == question.right
        for question in questions
    )
    assert longest <= 0.5 * len(questions), "nor must pointing at the longest answer"
