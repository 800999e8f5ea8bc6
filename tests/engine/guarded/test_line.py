"""The order in which threads get one of a few places."""

import pytest

from engine.guarded import Line


def test_failed_waiter_does_not_block_the_line():
    line = Line(1)
    assert line.enter(lambda: False)

    def fails() -> bool:
        raise ConnectionError("no server")

    with pytest.raises(ConnectionError):
        line.enter(fails)
    assert not line.enter(lambda: True)
    line.leave()
    assert line.enter(lambda: False)
