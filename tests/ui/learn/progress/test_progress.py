"""Progress joined from two tabs or a file."""

import json
from itertools import permutations

import pytest

from tests.ui.learn.progress.entries import answer, one_of_each, predicted, step, task
from ui.learn.progress import progress as module
from ui.learn.progress.progress import NOTHING, Progress, ProgressError


def test_of_two_about_the_same_the_earlier_counts_whatever_comes_first():
    entries = [answer(when=5, right=False), answer(when=6), task(when=7, helped=True), task(when=9)]
    found = {
        json.dumps(sorted(Progress.of(each[:2]).joined(each[2:]).record()["entries"], key=str))
        for each in permutations(entries)
    }
    assert len(found) == 1
    progress = Progress.of(entries)
    assert [one.right for one in progress.answers] == [False]
    assert [one.helped for one in progress.tasks] == [True]


def test_a_file_holds_all_of_it():
    progress = Progress.of(one_of_each())
    assert Progress.imported(progress.exported()) == progress
    assert Progress.imported(NOTHING.exported()) == NOTHING
    assert progress.joined(Progress.imported(progress.exported())) == progress


def changed(**values) -> str:
    data = Progress.of([answer()]).record()
    data["entries"][0] |= values
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "It holds list where an object belongs"),
        ('{"format": "trace"}', "is no progress of this app"),
        (json.dumps(NOTHING.record() | {"version": 9}), "written by a newer version"),
        (json.dumps(NOTHING.record() | {"entries": 3}), "Its entries is no list"),
        (changed(kind="win"), "Its kind 'win' is none of step, task"),
        (changed(right="yes"), "Its right is neither true nor false"),
        (changed(confidence=0.1), "Its confidence is not from that of a guess"),
        (changed(confidence=1e999), "Its confidence is no number"),
        (changed(topic="x" * 300), "Its topic is no text of at most 200"),
        (changed(when=-1), "Its when is no whole number"),
        (changed(answers=1), "Its answers is not from 2 to 9"),
        (json.dumps(NOTHING.record() | {"entries": [predicted(gap=2).record()]}), "Its gap"),
    ],
)
def test_a_bad_file_is_a_sentence(text, said):
    with pytest.raises(ProgressError) as refused:
        Progress.imported(text)
    assert said in str(refused.value) and str(refused.value).endswith(".")


def test_more_than_is_kept_is_refused_and_what_was_there_stays(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    progress = Progress.of([step("a"), step("b")])
    with pytest.raises(ProgressError, match="4 entries of progress, more than the 3"):
        progress.joined([step("c"), step("d")])
    assert len(progress.joined([step("a"), step("c")])) == 3
