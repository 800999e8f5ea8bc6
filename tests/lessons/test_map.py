"""The map of the course: nothing of the course is missing in it, and nothing in it is empty."""

from ui.claims.claims import CLAIMS
from ui.learn.course import course
from ui.learn.map.concepts import FOLDER, concept_map, concepts
from ui.learn.quiz.questions import quizzes
from ui.learn.words import ENGLISH, read_words
from ui.words.language import LANGUAGES


def test_every_lesson_claim_and_question_has_its_concept():
    found = list(concepts())
    assert {lesson.key for lesson in course().lessons} == {one.lesson.key for one in found}
    tried = {one.place.state["section"] for one in found if one.place.page == "claims"}
    assert {claim.key for claim in CLAIMS} == tried
    asked = {(one.asked_in.key, one.question.key) for one in found}
    assert {(quiz.topic, one.key) for quiz in quizzes() for one in quiz.questions} == asked


def test_no_cell_is_empty_in_any_language():
    words = read_words(FOLDER)
    for code in LANGUAGES:
        assert words[code].entries.keys() == words[ENGLISH].entries.keys(), code
        for topic in concept_map(code):
            assert topic.title and topic.concepts, topic.key
            for one in topic.concepts:
                cells = (one.name, one.use, one.place.title, one.question.text)
                assert all(cell.strip() for cell in cells), (code, one.key)
                assert one.lesson.words(code).entry(one.step.key).title, (code, one.key)
