"""Common to all measurements: parts, resuming, time left, and figures of several times."""

import pytest

from engine.errors import CancelledError
from engine.measure.measurement import Measurement
from engine.measure.pace import Pace, PaceMeasurement
from engine.measure.reference import changed
from engine.measure.samples import median, outliers, p95
from tests.engine.tiny_models import CONTEXT, shared


class Counted(Measurement[tuple]):
    """A measurement that records the measured parts, and breaks off once before `breaks_at`."""

    def __init__(self, breaks_at: int | None = None) -> None:
        super().__init__([1.0, 1.0, 2.0])
        self.measured: list[int] = []
        self.breaks_at = breaks_at

    def _measure(self, part: int) -> None:
        if part == self.breaks_at:
            self.breaks_at = None
            raise CancelledError("cancelled")
        self.measured.append(part)

    @property
    def result(self) -> tuple:
        return tuple(self.measured)


def test_parts_are_measured_in_order_until_done():
    measurement = Counted()
    left = list(measurement.run())
    assert measurement.result == (0, 1, 2) and measurement.is_done
    assert left[0] > left[1] > left[2] == 0 or left == [0, 0, 0]
    assert list(measurement.run()) == []


def test_measurement_resumes_at_the_interrupted_part():
    measurement = Counted(breaks_at=1)
    with pytest.raises(CancelledError):
        list(measurement.run())
    assert measurement.done == 1 and not measurement.is_done
    list(measurement.run())
    assert measurement.result == (0, 1, 2)


def test_time_left_follows_from_part_costs(monkeypatch):
    clock = iter([0.0, 1.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr("engine.measure.measurement.time.perf_counter", lambda: next(clock))
    assert list(Counted().run()) == [3.0, 2.0, 0.0]


def test_median_and_p95_match_known_values():
    assert median([3, 1, 2]) == 2
    assert p95(range(101)) == 95


@pytest.mark.parametrize(
    ("values", "near", "found"),
    [
        ([10, 10.1, 9.9, 10, 30, 10.05], None, [4]),
        ([10, 10.01, 9.99, 10, 10.5, 10], None, []),  # off by less than a tenth of the median
        ([1, 1, 1, 9], None, []),  # too few to say
        ([float(n) for n in range(40)], 5, []),  # a straight line has none
        ([n + 50 * (n == 20) for n in range(40)], 5, [20]),
        ([10, 10, 10, 10, 2, 10], None, [4]),  # a value that is too fast counts too
    ],
)
def test_outliers_are_detected(values, near, found):
    assert outliers(values, near) == found


def test_change_of_machine_speed_is_detected():
    assert changed([1.0, 1.02, 0.98, 1.6, 1.0]) == [3]
    assert changed([1.0]) == [] == changed([])


def test_pace_extrapolates_from_measured_times():
    pace = Pace((4, 16, 64), (40.0, 40.0, 44.8), 5.0)
    assert pace.read_seconds(10) == pytest.approx(0.040)
    assert pace.read_seconds(40) == pytest.approx(0.0424)
    assert pace.read_seconds(164) == pytest.approx(0.0548)  # 0.1 ms for each further token
    assert pace.step_seconds(10) == pytest.approx(0.05)


def test_pace_measures_lengths_that_fit_the_context():
    measurement = PaceMeasurement(shared("llama"))
    assert measurement.result is None
    list(measurement.run())
    pace = measurement.result
    assert pace.tokens == (4, 16, 64) and max(pace.tokens) < CONTEXT
    assert pace.step_ms > 0 and all(ms > 0 for ms in pace.ms)
