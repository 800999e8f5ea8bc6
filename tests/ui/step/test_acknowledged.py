"""Completed actions: when sent again, they are recognised."""

import pytest

from ui.step.acknowledged import MOST_CLIENTS, Acknowledged


def test_acknowledging_an_action_covers_all_earlier_ones():
    done = Acknowledged()
    assert not done and not done.covers("tab", 1)
    done.add("tab", 3)
    done.add("tab", 2)
    assert done.covers("tab", 3) and done.covers("tab", 1) and not done.covers("tab", 4)
    assert "tab" in done and not done.covers("other", 1)


def test_least_recent_page_is_forgotten_at_the_limit():
    done = Acknowledged()
    for number in range(MOST_CLIENTS):
        done.add(f"tab {number}", 1)
    done.add("tab 0", 2)
    done.add("new", 1)
    assert len(done) == MOST_CLIENTS and "tab 1" not in done and done.covers("tab 0", 2)


@pytest.mark.parametrize("broken", [None, 7, "text", [[]], [["tab", "1"]], [[1, 1]], [["a", 1, 2]]])
def test_broken_record_reads_as_empty(broken):
    assert not Acknowledged.from_list(broken)


def test_record_round_trips_without_its_broken_entries():
    done = Acknowledged.from_list([["tab", 3], "broken", ["other", 1]])
    assert done.to_list() == [["tab", 3], ["other", 1]]
