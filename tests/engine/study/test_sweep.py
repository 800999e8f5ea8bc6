"""Sweeps: the grid, its checks before anything runs, the tables, cancelling."""

import math
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from engine.decoder import Decoder
from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import TopK, TopP
from engine.study import metrics
from engine.study.sweep import MOST_TEXTS, Axis, Sweep, SweepResult
from tests.engine import tiny_models

TEMPERATURES, NUCLEI = (0.5, 1.0, 1.5), (0.6, 1.0)


def small(**changes) -> Sweep:
    arguments = {
        "base": SamplingSettings(top_k=30),
        "x": Axis("temperature", TEMPERATURES),
        "y": Axis("top_p", NUCLEI),
        "prompts": ["the cat", "one step is"],
        "seeds": (3, 5),
        "max_tokens": 12,
    }
    return Sweep(**arguments | changes)


def finished(sweep: Sweep, model: LanguageModel) -> SweepResult:
    run = sweep.run(model)
    for _ in run:
        pass
    return run.result()


@pytest.fixture(scope="module")
def result(text_model) -> SweepResult:
    return finished(small(), text_model)


# The texts.


def test_every_text_matches_a_decoder_with_cell_settings(result, text_model):
    assert result.is_complete and not result.notices
    assert len(result.texts) == result.sweep.count == 3 * 2 * 2 * 2
    assert len(result.texts.drop_duplicates(["x", "y", "prompt", "seed"])) == len(result.texts)
    for place, row in result.texts.iterrows():
        settings = SamplingSettings(temperature=row.x, top_p=row.y, top_k=30, seed=row.seed)
        decoder = Decoder(text_model, result.sweep.prompts[row.prompt], settings)
        steps = list(decoder.run(12))
        assert list(result.token_ids[place]) == decoder.token_ids
        assert row.text == decoder.text and row.stop_reason == decoder.stop_reason
        assert row.length == len(steps) and row.ended
        assert row.logprob == pytest.approx(sum(step.logprob for step in steps), abs=1e-3)
        entropy = np.mean([step.model_entropy_bits for step in steps])
        assert row.model_entropy_bits == pytest.approx(entropy, abs=1e-3)


def test_cells_draw_with_the_same_uniform_numbers(text_model):
    # With one setting in all cells the texts of a seed are the same, and differ between seeds.
    same = {"y": None, "base": SamplingSettings(), "seeds": range(5)}
    with pytest.raises(SettingError, match="vocabulary"):
        small(x=Axis("top_k", [1000, 999]), **same).run(text_model)
    texts = finished(small(x=Axis("top_k", [0, text_model.vocab_size]), **same), text_model).texts
    for _, alike in texts.groupby(["prompt", "seed"]):
        assert len(alike) == 2 and alike["text"].nunique() == 1
    assert texts.groupby("prompt")["text"].nunique().tolist() == [5, 5]


def test_sweep_works_with_token_ids_without_tokenizer():
    sweep = small(prompts=[tiny_models.prompt(0), tiny_models.prompt(1)], y=None, max_tokens=4)
    for name in ("llama", "mamba"):
        result = finished(sweep, tiny_models.shared(name))
        assert result.is_complete and set(result.texts["prompt"]) == {0, 1}
        assert (result.texts["length"] == 4).all()
    assert "one by one" in result.notices[0], "a recurrent model's texts"


def test_stop_strings_end_the_texts(text_model, result):
    string = result.texts["text"][0][3:5]
    texts = finished(small(stop_strings=(string,)), text_model).texts
    stopped = texts["text"].str.contains(string, regex=False)
    assert stopped.any() and (texts["stop_reason"][stopped] == "stop_string").all()
    with pytest.raises(PromptError, match="empty"):
        small(prompts=["the cat", ""]).run(text_model)


# The tables.


def test_cell_means_match_hand_computed_values(result):
    cells = result.cells
    assert list(zip(cells["x"], cells["y"], strict=True)) == [
        (x, y) for x in TEMPERATURES for y in NUCLEI
    ]
    cell = cells[(cells["x"] == 1.5) & (cells["y"] == 0.6)].iloc[0]
    texts = result.texts[(result.texts["x"] == 1.5) & (result.texts["y"] == 0.6)]
    assert cell["texts"] == len(texts) == 4
    assert cell["mean_logprob"] == pytest.approx(texts["mean_logprob"].mean())
    assert cell["mean_logprob_sd"] == pytest.approx(texts["mean_logprob"].std())
    diversity, likeness = [], []
    for prompt in (0, 1):
        ids = [result.token_ids[i] for i in texts.index if texts["prompt"][i] == prompt]
        assert len(ids) == 2
        diversity.append(metrics.distinct_n(ids, 2))
        likeness.append(metrics.self_bleu(ids))
    assert cell["sample_distinct_2"] == pytest.approx(np.mean(diversity))
    assert cell["self_bleu"] == pytest.approx(np.mean(likeness))


def test_cell_perplexity_covers_all_its_tokens(result):
    texts = result.texts.copy()
    own = texts.index[(texts["x"] == 1.5) & (texts["y"] == 0.6)]
    texts.loc[own, "length"], texts.loc[own, "logprob"] = [1, 2, 3, 94], [-4.0, -9.0, -1.0, -36.0]
    cells = replace(result, texts=texts).cells
    cell = cells[(cells["x"] == 1.5) & (cells["y"] == 0.6)].iloc[0]
    assert cell["mean_logprob"] == pytest.approx(-50 / 100)
    assert cell["perplexity"] == pytest.approx(math.exp(0.5))


def test_pivot_keeps_the_order_of_the_axes(text_model):
    sweep = small(x=Axis("temperature", [1.5, 0.5]), y=Axis("top_k", [5, 0, 2]), max_tokens=4)
    found = finished(sweep, text_model)
    table = found.pivot("perplexity")
    assert table.columns.tolist() == [1.5, 0.5] and table.columns.name == "temperature"
    assert table.index.tolist() == [5, 0, 2] and table.index.name == "top_k"
    for _, cell in found.cells.iterrows():
        assert table.loc[cell["y"], cell["x"]] == cell["perplexity"]
    with pytest.raises(SettingError, match=r"'bleu'; use one of .*self_bleu"):
        found.pivot("bleu")


def test_hotter_texts_are_more_diverse_and_less_likely(text_model):
    hotter = Axis("temperature", [0.0, 0.5, 1.0, 2.0])
    found = finished(small(x=hotter, y=None, seeds=range(8), base=SamplingSettings()), text_model)
    assert found.texts["y"].isna().all() and found.pivot("length").shape == (1, 4)
    assert (np.diff(found.pivot("mean_logprob").loc[math.nan]) < 0).all()
    assert (np.diff(found.pivot("self_bleu").loc[math.nan]) < 0).all()
    assert found.pivot("self_bleu")[0.0].item() == pytest.approx(1.0), "greedy texts are all alike"
    assert len(found.pareto("mean_logprob", "sample_distinct_1")) >= 2
    columns = found.oriented("mean_logprob", "-perplexity")
    assert columns[:, 0].tolist() == found.cells["mean_logprob"].tolist()
    assert columns[:, 1].tolist() == (-found.cells["perplexity"]).tolist()
    best = found.pareto("-perplexity")
    assert best["perplexity"].tolist() == [found.cells["perplexity"].min()]


def test_a_saved_table_reads_back(result, tmp_path):
    texts = result.texts.assign(text="one\rtwo\nthree\r\nfour")  # every kind of line end
    result = SimpleNamespace(texts=texts)
    SweepResult.to_csv(result, tmp_path / "sweep.csv")
    SweepResult.to_parquet(result, tmp_path / "sweep.parquet")
    in_csv = pd.read_csv(tmp_path / "sweep.csv").astype(texts.dtypes)
    for back in (in_csv, pd.read_parquet(tmp_path / "sweep.parquet")):
        pd.testing.assert_frame_equal(back, texts)
        assert back["error"].isna().all(), "no error is no text that says None"


# Partial results.


def test_cancelled_sweep_keeps_its_texts_and_resumes(text_model, result):
    cancel = threading.Event()
    run = small().run(text_model, cancel=cancel, max_rows=4)
    assert run.result().texts.empty and run.result().cells.empty
    assert run.result().pivot("texts").isna().all(axis=None)
    for progress in run:
        if progress.texts_done >= 4 and progress.tokens_done > 60:
            cancel.set()
    half = run.result()
    assert not half.is_complete and not run.is_done and half.seconds > 0
    ended = half.texts["ended"]
    assert 4 <= ended.sum() < len(half.texts) < 24, "some are whole, some half, some not begun"
    assert half.texts["stop_reason"][~ended].isna().all()
    assert half.cells["texts"].sum() == ended.sum(), "half texts count in no mean"
    with_value = half.pivot("length").notna().sum().sum()
    assert 0 < with_value == len(half.cells) < 6

    cancel.clear()
    for _ in run:
        pass
    whole = run.result()
    assert whole.is_complete
    assert whole.texts["text"].tolist() == result.texts["text"].tolist()
    assert whole.token_ids == result.token_ids and whole.seconds > half.seconds


def test_progress_ends_with_all_texts_done(text_model):
    progress = list(small().run(text_model))
    assert progress[0].seconds_left is None, "nothing to go by yet"
    assert progress[-1].texts_done == progress[-1].texts == 24
    assert progress[-1].seconds_left == 0.0
    assert all(later.seconds_left > 0 for later in progress[1:-1])


def test_cells_get_their_first_texts_before_any_second(text_model):
    run = small(prompts=["the cat"]).run(text_model, max_rows=6)
    for progress in run:
        if progress.texts_done == 6:
            break
    assert run.result().cells["texts"].tolist() == [1] * 6


# Axes and checks.


def test_stage_field_may_be_an_axis():
    base = SamplingSettings(chain=[TopP(0.9), TopK(5)])
    cells = small(base=base, x=Axis("top_p.p", [0.2, 0.4]), y=Axis("top_k.k", [1, 2])).cells
    assert [cell.settings.chain for cell in cells] == [
        (TopP(p), TopK(k)) for p in (0.2, 0.4) for k in (1, 2)
    ]


def test_off_value_removes_the_stage_and_keeps_order():
    base = SamplingSettings(chain=[TopP(0.9), TopK(5)])
    cells = small(base=base, x=Axis("top_k", [0, 7]), y=None).cells
    assert [cell.settings.chain for cell in cells] == [(TopP(0.9),), (TopP(0.9), TopK(7))]
    axis = Axis("temperature", np.linspace(0.5, 1.5, 3))
    assert axis.values == (0.5, 1.0, 1.5) and type(axis.values[0]) is float, "not NumPy's"
    assert small(base=SamplingSettings(top_k=30, seed=7)) == small(), "the base's seed is ignored"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": ("temperature", [1.0, -1.0])}, r"^temperature .* got -1\.0; [^;]+$"),
        ({"x": ("top_q", [1])}, "^top_q is not a setting"),
        ({"x": ("min_p.ratio", [0.1])}, "min_p is a stage that is off"),
        ({"x": ("top_k.size", [5])}, "has no such field"),
        ({"x": ("seed", [1])}, "axis is not a setting to sweep over"),
        ({"x": ("temperature", [])}, "axis temperature has no values"),
        ({"x": ("temperature", 5)}, "axis temperature must be a list"),
        ({"x": ("temperature", [1, "hot"])}, "must contain numbers, got 'hot'"),
        ({"x": ("temperature", [True])}, "got True"),
        ({"x": ("temperature", [math.nan])}, "finite"),
        ({"x": ("temperature", [1, 0.5, 1.0])}, "contains a value twice, got 1"),
        ({"y": ("temperature", [1, 2])}, "axes are the same setting"),
        ({"x": ("top_k", range(10**12))}, "axis top_k are too many"),
        ({"prompts": ()}, "no prompt"),
        ({"seeds": ()}, "seeds must be different numbers"),
        ({"seeds": (1, 1)}, "seeds must be different numbers"),
        ({"seeds": (1, None)}, "seeds must be chosen beforehand"),
        ({"seeds": (-1,)}, "seed is out of range"),
        ({"seeds": 4}, "seeds must be a list"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"stop_strings": ("",)}, "stop_strings"),
        ({"base": SamplingSettings(parity=True)}, "parity"),
    ],
)
def test_invalid_sweep_is_refused_on_creation(changes, words):
    with pytest.raises((SettingError, PromptError), match=words):
        axes = {name: Axis(*changes[name]) for name in ("x", "y") if name in changes}
        small(**changes | axes)


def test_too_large_grid_is_refused_with_its_size():
    x, y = Axis("temperature", np.linspace(0.1, 2, 1000)), Axis("top_p", np.linspace(0.1, 1, 1000))
    with pytest.raises(SettingError, match=r"20,000 texts, got 4,000,000; .*1,000 x 1,000 cells"):
        small(x=x, y=y)
    x = Axis("temperature", np.linspace(0.1, 2, MOST_TEXTS))
    assert small(x=x, y=None, prompts="one text", seeds=[1]).count == MOST_TEXTS
