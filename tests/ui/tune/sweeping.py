"""A sweep for tests to wait for."""

from ui.tune.tuning import Tuning

PATIENCE_S = 120


def finished(tuning: Tuning) -> Tuning:
    """Run the planned sweep to its end."""
    tuning.run()
    assert tuning.error == ""
    tuning.work.wait(PATIENCE_S)
    assert tuning.work.is_done
    return tuning
