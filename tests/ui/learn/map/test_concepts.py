"""The map as data: what it names is there, and a mistake in a file is a sentence."""

import pytest

from ui.learn.course import course
from ui.learn.map.concepts import read_map
from ui.learn.source import LessonError

ROWS = """
[[topics]]
key = "one"
concepts = [
  { key = "two", lesson = "greedy/loops", question = "the_loop/plan", try = TRY },
]
""".replace("TRY", '{ page = "beam", width = 1 }')
WORDS = "# Map\n## one: First\n### two: Second\nthe table\n"


def made_up(folder, rows=ROWS, words=WORDS, **languages):
    for language, text in {"en": words, **languages}.items():
        (folder / f"{language}.md").write_text(text, "utf-8")
    (folder / "map.toml").write_text(rows, "utf-8")
    return folder


def test_a_concept_has_its_lesson_experiment_and_question(tmp_path):
    german = "# Karte\n## one: Erstes\n"
    (topic,) = read_map(course(), made_up(tmp_path, de=german), "de")
    (concept,) = topic.concepts
    assert (topic.title, concept.name, concept.use) == ("Erstes", "Second", "the table")
    assert (concept.lesson.key, concept.step.key) == ("greedy", "loops")
    assert (concept.place.page, concept.place.state) == ("beam", {"width": 1})
    assert (concept.asked_in.key, concept.question.key) == ("the_loop", "plan")
    assert concept.question.text.startswith("Ein Satz"), "in the language of the map"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("greedy/loops", "greed/loops", 'lesson names "greed", which is not there; use one of'),
        ("greedy/loops", "greedy/loop", "use one of always, truth, loops"),
        ("the_loop/plan", "the_loop/plans", "use one of why_a_loop,"),
        ('page = "beam"', 'page = "beams"', "topics.one.concepts.two.try.page"),
        ("width = 1 }", "width = 1 }, at = 1", "at is not known here"),
        ('key = "two"', 'key = "one"', "rename one of them"),
        ("### two: Second", "### three: Third", "one/two has no words"),
        ("the table", "", "says nothing to use"),
        ("the table", "the table\n### three: x", "one/three is no key of map.toml"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path, old, new, said):
    folder = made_up(tmp_path, ROWS.replace(old, new), WORDS.replace(old, new))
    with pytest.raises(LessonError) as refused:
        read_map(course(), folder)
    assert said in str(refused.value)
