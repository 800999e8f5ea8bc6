"""A sweep that tests wait for."""

from ui.tune.tuning import Tuning

PATIENCE_S = 120


def finished(tuning: Tuning) -> Tuning:
    """The same, with the planned sweep done."""
    tuning.run()
    assert tuning.error == ""
    tuning.work.wait(PATIENCE_S)
    assert tuning.work.is_done
    return tuning
