"""Figures of samples are computed once for each number of texts."""

from unittest.mock import Mock

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.ui import hostile
from ui.compare import sampling_run
from ui.compare.sampling_run import SamplingRun

PATIENCE_S = 60


def test_summaries_and_csv_are_computed_once_per_count(monkeypatch):
    model = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")
    columns = [(1, "a", SamplingSettings()), (2, "b", SamplingSettings(temperature=0.5))]
    run = SamplingRun(
        {1: model, 2: model}, {model: "w1"}, columns, count=3, first_seed=0, max_tokens=4
    )
    summed, written = Mock(wraps=sampling_run.summary), Mock(wraps=sampling_run.spreadsheet_csv)
    monkeypatch.setattr(sampling_run, "summary", summed)
    monkeypatch.setattr(sampling_run, "spreadsheet_csv", written)
    assert run.summaries() == {}
    head = run.csv()
    run.start()
    run.wait(PATIENCE_S)
    assert run.version == 6
    first = run.summaries(), run.csv()
    for _ in range(5):  # reruns of the page
        assert run.summaries() is first[0]
        assert run.csv() is first[1]
    assert (summed.call_count, written.call_count) == (2, 2)
    assert first[1].count(b"\r\n") > head.count(b"\r\n")
    assert {number: found.count for number, found in first[0].items()} == {1: 3, 2: 3}
