"""The compare page's comparisons: columns, their differences, samples."""

import threading

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException

from engine.decoder import Decoder
from engine.errors import LogitsError
from engine.runner.job import this_job
from engine.sampling.presets import PRESETS
from tests.ui.compare.comparing import PROMPT, ids, settle
from ui import jobs, playing
from ui.compare.column import OWN, divergence
from ui.compare.comparison import MOST, Comparison
from ui.compare.sampling_run import SamplingRun
from ui.jobs import UNKNOWN, Call
from ui.texts.limits import MOST_TOKENS


def test_columns_match_separate_decoders(comparison, model):
    assert len(comparison.columns) == 4
    for column in comparison.columns:
        decoder = Decoder(model, PROMPT, comparison.inputs.effective(column))
        alone = [step.token_id for step in decoder.run(24)]
        assert column.length == column.metrics.length == 24
        assert ids(column) == alone
        finals = [decoder.distribution(i).final_entropy_bits for i in range(24)]
        assert column.metrics.final_entropy_bits == pytest.approx(sum(finals) / 24)
        logprobs = [step.logprob for step in decoder.steps]
        assert column.metrics.logprob == pytest.approx(sum(logprobs))


def test_metrics_include_steps_without_a_distribution(comparison, monkeypatch):
    def refused(*_: object) -> None:
        raise LogitsError("The logits are gone.")

    monkeypatch.setattr(Decoder, "distribution", refused)
    comparison.player.step()
    for column in comparison.columns:
        assert (column.length, column.metrics.length, column.error) == (25, 25, "")


def test_divergence_is_the_first_differing_token(comparison):
    first, *others = comparison.columns
    parted = 0
    for column in others:
        pairs = list(zip(ids(column), ids(first), strict=True))
        place = next((i for i, (here, there) in enumerate(pairs) if here != there), None)
        found = divergence(column, first)
        assert (found.index if found else None) == place
        if found is not None:
            parted += 1
            assert (found.here.token_id, found.there.token_id) == pairs[place]
            # Both texts agree up to there, so the model's distribution is the same for both.
            assert found.here.model_entropy_bits == found.there.model_entropy_bits
    assert parted, "no column departs from greedy: the test shows nothing"


def test_equal_settings_need_shared_numbers_for_equal_texts(comparison):
    first, second = comparison.columns[:2]
    for column in (first, second):
        comparison.set_settings(column.number, PRESETS["Pure sampling"].replace(seed=column.number))
    settle(comparison)
    first, second = comparison.columns[:2]
    assert divergence(second, first) is None
    comparison.change(same_u=False, seed=0)
    settle(comparison)
    first, second = comparison.columns[:2]
    assert divergence(second, first) is not None
    assert second.text.settings.seed == second.number


def test_change_restarts_one_column_to_equal_length(comparison):
    texts = [column.text for column in comparison.columns]
    column = comparison.columns[1]
    comparison.adjust(column.number, temperature=2.0)
    settle(comparison)
    assert comparison.column(column.number).preset == OWN
    kept = [c.text is text for c, text in zip(comparison.columns, texts, strict=True)]
    assert kept == [True, False, True, True]
    assert {c.length for c in comparison.columns} == {24}


def test_refused_value_is_reported_and_changes_nothing(comparison):
    column = comparison.columns[1]
    before = column.settings
    for changes, said in (
        ({"temperature": -1.0}, "Temperature must not be negative, got -1.0"),
        ({"top_p": 1.5}, "Top-p must be above 0 and at most 1, got 1.5"),
        ({"top_k": 100_000}, "Top-k exceeds the vocabulary of"),
        ({"seed": None}, "Seed of this column is empty"),
        ({"seed": 1.5}, "Seed of this column must be a whole number, got 1.5"),
    ):
        comparison.adjust(column.number, **changes)
        assert said in comparison.error
        assert comparison.columns[1] is column
        assert column.settings == before


def test_invalid_prompt_leaves_texts_unchanged(comparison):
    before = [ids(column) for column in comparison.columns]
    for prompt in ("", "w1|" * 500, "x" * 30_000):
        comparison.change(prompt=prompt)
        assert comparison.error
        assert comparison.inputs.prompt == PROMPT
        assert [ids(column) for column in comparison.columns] == before
    comparison.change(max_tokens=MOST_TOKENS + 1)
    assert "Max tokens is out of range, got 513" in comparison.error


def test_there_are_two_to_six_columns(comparison):
    for _ in range(4):
        comparison.add()
    assert len(comparison.columns) == MOST
    assert "There are already 6 columns, the maximum; remove one" in comparison.error
    assert len({column.preset for column in comparison.columns}) == MOST
    for column in list(comparison.columns):
        comparison.remove(column.number)
    assert len(comparison.columns) == 2


def test_column_numbers_stay_unique_after_interrupted_drawing(comparison, monkeypatch):
    def word() -> str:
        raise RerunException(RerunData())

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "language", word)
        with pytest.raises(RerunException):
            comparison.add()
    comparison.add()
    settle(comparison)
    assert [column.number for column in comparison.columns] == [1, 2, 3, 4, 5, 6]
    assert {column.length for column in comparison.columns} == {24}


def test_play_stops_at_the_token_limit(comparison):
    comparison.change(max_tokens=30)
    comparison.player.play()
    lengths = []
    while comparison.player.is_growing:
        comparison.look()
        comparison.player.job.wait(30)
        lengths.append({column.length for column in comparison.columns})
    assert lengths == [{length} for length in range(25, 31)]
    assert not comparison.player.playing
    comparison.player.rewind()
    assert {column.length for column in comparison.columns} == {0}
    comparison.player.step()
    assert {column.length for column in comparison.columns} == {1}


def test_slow_step_runs_in_background_and_is_cancellable(comparison, monkeypatch):
    monkeypatch.setattr(playing, "PATIENCE_SECONDS", 0.0)
    begun, before = threading.Event(), [ids(column) for column in comparison.columns]

    def waits(*_: object) -> None:
        begun.set()
        while True:
            this_job().check()

    with monkeypatch.context() as patch:
        patch.setattr(Decoder, "_step", waits)
        comparison.player.step()
        assert begun.wait(30) and comparison.player.is_busy
        comparison.player.cancel()
        settle(comparison)
    assert comparison.error == Call.cancelled
    assert [ids(column) for column in comparison.columns] == before
    assert not any(column.error for column in comparison.columns)


def test_restored_comparison_reports_changed_texts(comparison, model):
    texts = [ids(column) for column in comparison.columns]
    comparison.columns[0].text.settings = comparison.columns[0].settings.replace(temperature=3)
    comparison.player.rewind(20)
    comparison.player.step()  # a new run does not take this step again
    record = comparison.record()
    again = Comparison.restored(record, lambda source, revision: model)
    assert again.record() == record, "until then the tokens are those that were kept"
    again.adjust(2, temperature=2.0)
    settle(again)
    assert again.said.endswith("Those of these columns are no longer the same: 1.")
    assert ids(again.columns[3])[:20] == texts[3][:20]
    stopped = Comparison.restored(record, lambda source, revision: model)
    stopped.player.stop()
    settle(stopped)
    assert stopped.said == "" and not any(ids(column) for column in stopped.columns)


# --- samples --------------------------------------------------------------------------------------


def test_samples_share_seeds_and_fill_the_table(comparison):
    comparison.change(max_tokens=8)
    comparison.sample(3, UNKNOWN)
    run = comparison.sampling
    run.wait()
    assert run.is_done
    assert run.problem == ""
    for column in comparison.columns:
        samples = run.samples(column.number)
        assert [sample.text.settings.seed for sample in samples] == [5, 6, 7]
        assert run.summaries()[column.number].count == 3
    frame = run.frame()
    assert len(frame) == 12
    assert {"column", "name", "seed", "text", "stop_reason", "perplexity"} <= set(frame)
    assert (set(frame["model"]), set(frame["prompt"])) == ({"plain"}, {PROMPT})


def test_cancelled_samples_are_kept_and_resume_identically(comparison, monkeypatch):
    comparison.change(max_tokens=20)
    comparison.sample(20, UNKNOWN)
    whole = comparison.sampling
    whole.wait()
    passes = SamplingRun._passes

    def cancelled_as_soon_as_there_is_something(run):
        for left in passes(run):
            if run.samples():
                run.cancel()
            yield left

    with monkeypatch.context() as cancelled:
        cancelled.setattr(SamplingRun, "_passes", cancelled_as_soon_as_there_is_something)
        comparison.sample(20, UNKNOWN)
        run = comparison.sampling
        run.wait()
    kept = len(run.samples())
    assert 0 < kept < 80
    assert not run.is_done
    assert f"{kept} of 80 texts" in run.progress
    assert set(run.summaries()) <= {column.number for column in comparison.columns}
    run.start()
    run.wait()
    assert run.is_done
    assert list(run.frame()["text"]) == list(whole.frame()["text"])


def test_count_out_of_range_leaves_the_last_samples(comparison):
    comparison.sample(0, UNKNOWN)
    assert comparison.sampling is None
    comparison.sample(1, UNKNOWN)
    run = comparison.sampling
    for count, said in (
        (0, "is out of range, got 0; use a whole number from 1 to 200."),
        (-5.0, "is out of range, got -5"),
        (1e6, "is out of range, got 1,000,000"),
        (2.5, "must be a whole number, got 2.5"),
        (None, "is empty"),
    ):
        comparison.sample(count, UNKNOWN)
        assert comparison.error.startswith(f"Samples per setting {said}")
        assert comparison.sampling is run and not run.is_cancelled
    run.wait()


def test_reason_is_given_when_all_texts_end(comparison):
    assert comparison.why_over == ""
    comparison.change(max_tokens=24)
    assert comparison.why_over == "No text may have more than 24 tokens; raise Max tokens."
    for column in comparison.columns:
        column.error = "The context is full."
    assert comparison.why_over == "Every text has ended; adjust a column, or press Rewind."


@pytest.mark.parametrize(
    "preset", ["Creative", pytest.param("Pure sampling", marks=pytest.mark.long)]
)
def test_vary_seed_leaves_only_seeds_different(comparison, preset):
    assert comparison.columns[0].settings.is_greedy, "which draws nothing, so it is passed over"
    comparison.set_settings(2, PRESETS[preset])
    comparison.change(same_u=True, seed=11)
    assert comparison.settings_differ
    comparison.vary_seed()
    settle(comparison)
    assert comparison.error == "" and not comparison.inputs.same_u
    assert [column.text.settings.seed for column in comparison.columns] == [11, 12, 13, 14]
    assert not comparison.settings_differ
    assert len({tuple(ids(column)) for column in comparison.columns}) == 4
