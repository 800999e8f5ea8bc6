"""A measurement as a file: written, read back, and refused with a sentence."""

import json

import pytest

from engine.errors import MeasurementError
from engine.measure.machine import Setting
from engine.measure.prefill_and_decode import PrefillAndDecode, PrefillAndDecodeMeasurement
from engine.measure.report import MOST_BYTES, Report
from engine.measure.roofline.measurement import Plan, RooflineMeasurement
from engine.measure.roofline.results import Roofline
from engine.measure.with_and_without import WithAndWithout, WithAndWithoutMeasurement
from tests.engine.tiny_models import shared

KINDS = {"text": WithAndWithout, "grid": PrefillAndDecode, "roof": Roofline}


@pytest.fixture(scope="module")
def report() -> Report:
    model = shared("llama")
    parts = {
        "text": WithAndWithoutMeasurement(model, [1, 2], 6),
        "grid": PrefillAndDecodeMeasurement(model, [3], [2], 1),
        "roof": RooflineMeasurement(model, Plan((4,), (4,), (1,), 2**16, (16,))),
    }
    for part in parts.values():
        list(part.run())
    return Report(Setting.here(model), {name: part.result for name, part in parts.items()})


def test_report_round_trips_through_json(report):
    again = Report.from_json(report.to_json(), KINDS)
    assert again.setting == report.setting and again.parts == report.parts
    known = Report.from_json(report.to_json(), {"grid": PrefillAndDecode, "other": Roofline})
    assert list(known.parts) == ["grid"], "an unknown part is skipped"


def test_setting_names_model_and_machine(report):
    setting = report.setting
    assert setting.model == "llama" and setting.dtype == "float32" and setting.device == "cpu"
    assert setting.machine.cores >= 1 and setting.threads >= 1 and setting.date.endswith("UTC")
    assert setting.name.endswith("cores")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data.update(format="trace"), "is not a measurement"),
        (lambda data: data.pop("version"), "has no version"),
        (lambda data: data.update(version=99), "newer than this app reads"),
        (lambda data: data.pop("setting"), "damaged at setting"),
        (lambda data: data["setting"]["machine"].update(cores=0), "setting.machine.cores"),
        (lambda data: data["parts"]["text"].pop("text"), "text.text: is missing"),
        (lambda data: data["parts"]["text"]["cached_ms"].append(-1), r"text.cached_ms\[5\]"),
        (lambda data: data["parts"]["roof"]["passes"][0].update(kind="x"), r"kind: must be one of"),
    ],
)
def test_damaged_file_is_refused_naming_the_place(report, change, problem):
    data = json.loads(report.to_json())
    change(data)
    with pytest.raises(MeasurementError, match=problem):
        Report.from_json(json.dumps(data), KINDS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "not JSON"), ("[1]", "not a measurement"), (" " * (MOST_BYTES + 1), "more than")],
)
def test_text_that_is_not_a_measurement_is_refused(text, problem):
    with pytest.raises(MeasurementError, match=problem):
        Report.from_json(text, KINDS)
