"""Progress merged from two tabs or a file."""

import json
from itertools import permutations

import pytest

from tests.ui.learn.progress.entries import answer, one_of_each, predicted, step, task
from ui.learn.progress import progress as module
from ui.learn.progress.progress import NOTHING, Progress, ProgressError


def test_earlier_entry_wins_in_any_merge_order():
    entries = [answer(when=5, right=False), answer(when=6), task(when=7, helped=True), task(when=9)]
    found = {
        json.dumps(sorted(Progress.of(each[:2]).joined(each[2:]).record()["entries"], key=str))
        for each in permutations(entries)
    }
    assert len(found) == 1
    progress = Progress.of(entries)
    assert [one.right for one in progress.answers] == [False]
    assert [one.helped for one in progress.tasks] == [True]


def test_exported_file_holds_all_progress():
    progress = Progress.of(one_of_each())
    assert Progress.imported(progress.exported()) == progress
    assert Progress.imported(NOTHING.exported()) == NOTHING
    assert progress.joined(Progress.imported(progress.exported())) == progress


def changed(**values) -> str:
    data = Progress.of([answer()]).record()
    data["entries"][0] |= values
    return json.dumps(data)


BAD_GAP = predicted().record() | {"gap": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "must be an object"),
        ('{"format": "trace"}', "does not contain progress"),
        (json.dumps(NOTHING.record() | {"version": 9}), "newer version"),
        (json.dumps(NOTHING.record() | {"entries": 3}), "entries must be a list"),
        (changed(kind="win"), "entries[0].kind must be"),
        (changed(right="yes"), "entries[0].right must be"),
        (changed(confidence=0.1), "entries[0] has a confidence"),
        (changed(confidence=1e999), "is not JSON"),
        (changed(topic="x" * 300), "entries[0].topic must be"),
        (changed(when=-1), "entries[0].when must be"),
        (changed(answers=1), "entries[0].answers must be"),
        (json.dumps(NOTHING.record() | {"entries": [BAD_GAP]}), "entries[0] has a gap"),
    ],
)
def test_bad_file_is_refused_with_a_sentence(text, said):
    with pytest.raises(ProgressError) as refused:
        Progress.imported(text)
    assert said in str(refused.value)


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    progress = Progress.of([step("a"), step("b")])
    with pytest.raises(ProgressError, match="4 entries of progress, more than the 3"):
        progress.joined([step("c"), step("d")])
    assert len(progress.joined([step("a"), step("c")])) == 3
