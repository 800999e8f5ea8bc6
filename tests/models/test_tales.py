"""The tales: the notation of plots, and many well-formed tellings of every plot."""

import random
import re

import pytest

from models.training.own_texts.notation import Word
from models.training.own_texts.tales import tales
from models.training.own_texts.tales.plot import Plot, parse_plots
from models.training.own_texts.tales.telling import all_plots
from models.training.own_texts.tales.words import WORDS

HEROES = {"child": (Word("Mia", "girl", "she"), Word("Otto", "owl", "he"))}


def told(text: str, seed: int = 0, slots: dict[str, str] | None = None) -> str:
    return Plot(slots or {"hero": "child"}, (text,)).tell(HEROES, random.Random(seed))


def test_choices_can_be_nested_and_empty():
    texts = {told("a[ b[c|d]| e|].", seed) for seed in range(60)}
    assert texts == {"a bc.", "a bd.", "a e.", "a."}


def test_slot_gives_every_form_of_its_word():
    text = "{Hero} {hero.kind} {hero.many} {hero.he} {hero.He} {hero.him} {hero.his} {hero.himself}"
    by_hero = {told(text, seed) for seed in range(20)}
    assert by_hero == {
        "Mia girl Mias she She her her herself",
        "Otto owl Ottos he He him his himself",
    }


def test_article_matches_its_noun_and_capitalisation():
    one = Plot({"food": "food"}, ("{A food}, {a food}.",))
    assert one.tell({"food": (Word("apple"),)}, random.Random(0)) == "An apple, an apple."
    assert one.tell({"food": (Word("pie"),)}, random.Random(0)) == "A pie, a pie."
    hour = Plot({"time": "time"}, ("{A time}, {time.many}, {Time.many}.",))
    assert hour.tell({"time": (Word("hour"),)}, random.Random(0)) == "An hour, hours, Hours."


def test_two_slots_never_hold_the_same_word():
    both = {"hero": "child", "friend": "child"}
    for seed in range(30):
        first, second = told("{hero} {friend}", seed, both).split()
        assert first != second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Once upon a time\n\nA tale.", "must begin with lines"),
        ("hero: child", "no paragraphs"),
        ("hero: child\n\nOne [of|two.", "brackets do not match"),
        ("hero: child\n\n{friend} came.", "friend is used but not declared"),
        ("hero: child\n\n{hero!} came.", "is no slot"),
    ],
)
def test_malformed_plot_is_refused(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parse_plots(text)


def test_tales_are_varied_and_reproducible():
    some = tales(500, seed=5)
    assert len(set(some)) == 500
    assert some[:50] == tales(50, seed=5) != tales(50, seed=6)


@pytest.mark.parametrize("plot", all_plots(), ids=range(len(all_plots())))
def test_plots_give_well_formed_tales(plot: Plot):
    for seed in range(40):
        text = plot.tell(WORDS, random.Random(seed))
        assert not re.search(r"[\[\]{}|]|  | [.,!?]|,[,.]|\.,", text), text
        assert not re.search(r"(?<!\.)\.\.(?!\.)|\.\"\s+(said|asked|cried)\b", text), text
        assert not re.search(r"\b[Aa] [aeio]\w|\b[Aa]n [bcdfgjklmnpqrstvwxyz]", text), text
        assert not re.search(r"\b(\w+) \1\b(?<!that that)(?<!had had)(?<!very very)", text), text
        for paragraph in text.split("\n\n"):
            assert paragraph.count('"') % 2 == 0, text
            assert paragraph[0] == '"' or paragraph[0].isupper(), text
        assert text[0].isupper() and text[-1] in '.!?"', text
        assert 60 <= len(text.split()) <= 280, text
