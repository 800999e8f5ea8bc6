"""All checks together: order, failures, cancelling, files."""

import json
from types import SimpleNamespace

import pytest

from engine.errors import CancelledError, SettingError, msg
from engine.runner.job import as_job
from engine.server_check import OPEN, Plan, ServerCheck, chain, report_json, report_markdown
from engine.server_check import check as all_checks
from engine.server_check.finding import Failed, TokenText

PLAN = Plan("Hello | <b>there</b>", draws=20, others=1, length=3)
KEYS = ["honoured", "raw", "chain", "crowd", "speculation"]


@pytest.fixture(scope="module", autouse=True)
def short():
    """Compare the likeliest tokens only, which is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "MOST_LISTED", 200)
        yield


@pytest.fixture(scope="module")
def done(remote, local):
    check = ServerCheck(remote, PLAN, local)
    assert len(list(check.run())) == check.parts == 6
    return check


def test_every_check_has_a_verdict_and_figures(done):
    assert list(done.result) == [*KEYS, "engines"]
    for found in done.result.values():
        assert found.outcome and found.sentences and found.title
        for sheet in found.sheets:
            assert {len(row) for row in sheet.rows} == {len(sheet.head)}


def test_files_hold_every_figure(done, remote, server):
    report = report_json(remote.facts, PLAN, "bundled", done.result)
    data = json.loads(report, parse_constant=pytest.fail)
    assert list(data["checks"]) == [*KEYS, "engines"]
    assert len(data["checks"]["crowd"]["figures"]["steps"]) == 3
    text = report_markdown(remote.facts, PLAN, "bundled", done.result)
    assert server.address not in text + report
    assert r"Hello \| \<b\>there\</b\>" in text
    assert text.count("## ") == 6 and "| --- |" in text


def test_failed_check_leaves_the_others(changed):
    changed.dialect.fails = True
    check = ServerCheck(changed, PLAN)
    list(check.run())
    outcomes = {key: found.outcome for key, found in check.result.items()}
    assert list(outcomes) == KEYS
    assert outcomes["honoured"] == outcomes["chain"] == outcomes["speculation"] == OPEN
    assert "cannot be reached" in check.result["chain"].sentences[0]
    assert outcomes["raw"] != OPEN and outcomes["crowd"] != OPEN
    assert json.loads(report_json({}, PLAN, None, check.result))["checks"]["chain"]["figures"]


def test_reports_have_no_address_even_in_errors():
    address = "http://10.0.0.7:8080/my_api"
    found = {"raw": Failed("Listed", msg("{server} has not answered.", address))}
    text = report_json({"source": address}, PLAN, None, found)
    report = report_markdown({"source": address}, PLAN, None, found)
    for each in (text, report):
        assert "10.0.0.7" not in each and "the server has not answered." in each


def test_dialect_that_does_not_draw_is_said(changed, remote):
    inner = remote.dialect
    changed.dialect = SimpleNamespace(
        kind="elsewhere", encode=inner.encode, next_scores=inner.next_scores
    )
    check = ServerCheck(changed, PLAN)
    list(check.run())
    said = {key: found.sentences[0] for key, found in check.result.items()}
    assert "is not asked to draw" in said["honoured"] and "is not asked to draw" in said["chain"]
    assert "of the kind elsewhere are unknown" in said["raw"]
    assert check.result["crowd"].outcome != OPEN


def test_cancelled_check_continues(remote, monkeypatch):
    stops = iter([False, False, True])
    check = ServerCheck(remote, PLAN)
    with (
        as_job(lambda: next(stops, True)),
        pytest.raises(CancelledError),
    ):
        list(check.run())
    assert not check.is_done
    for name in ("check_honoured", "check_raw", "check_chain", "check_crowd", "check_speculation"):
        monkeypatch.setattr(all_checks, name, lambda *_: SimpleNamespace(outcome=OPEN))
    list(check.run())
    assert check.is_done and list(check.result) == KEYS


def test_unusable_plan_is_refused(remote):
    with pytest.raises(SettingError, match="draws"):
        ServerCheck(remote, Plan("Hi", draws=0))
    with pytest.raises(SettingError, match="at most 256 tokens"):
        ServerCheck(remote, Plan("one two " * 600))


def test_token_is_quoted_on_one_line():
    assert TokenText("\n").quoted == '"\\n"'
