"""What the page shows of a step, against the engine: the view, a token's way through the chain."""

import math

import numpy as np
import pytest

from engine.ranking import Survivors
from engine.sampling import SamplingSettings, shape
from engine.stages import (
    CutStage,
    Dry,
    DynamicTemperature,
    EditStage,
    EtaCutoff,
    FrequencyPenalty,
    MinP,
    Mirostat,
    NoRepeatNGram,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    Xtc,
)
from tests.browser.arithmetic import LARGE, Case, random_row, random_text
from tests.browser.modules import modules_page
from tests.browser.views import viewed
from ui.shared.settings import cards_of, plain_settings


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(browser, "kernel/row.js", "view/view.js") as page:
        yield page


def random_view_cases() -> list[Case]:
    rng = np.random.default_rng(4)
    cases = []

    def add(kind: str, *chain: Stage) -> None:
        logits = random_row(rng, 3000, kind)
        text = random_text(rng, logits)
        likely = np.argsort(-logits)
        text += [int(likely[place]) for place in (0, 4, 9, 40, 4, 300)]
        cases.append(
            Case(
                logits,
                SamplingSettings(chain=chain),
                text,
                us=[float(rng.random())],
                prompt_length=len(text) - 12,
                xtc_u=0.2,
                mu=6.5,
            )
        )

    add("normal")
    add("zipf", Temperature(0.7), TopK(40), TopP(0.9), MinP(0.02))
    add("bfloat16", RepetitionPenalty(1.4), Temperature(1.3), TopP(0.8))
    add("banned", RepetitionPenalty(0.6), Temperature(0))
    add("levels", TopK(3))
    add("normal", RepetitionPenalty(1.8), MinP(0.2))
    # Windows: the most likely tokens go.
    add("zipf", TypicalP(0.3))
    add("normal", Temperature(2), Xtc(threshold=0.005, probability=1))
    add("levels", Xtc(threshold=0.001, probability=1), TopK(7), Mirostat(tau=3))
    # Tokens that a ban takes out before there is a ranking to show, and after.
    add("normal", NoRepeatNGram(1), Dry(allowed_length=1), TopK(30))
    add("zipf", TopP(0.95), NoRepeatNGram(1), EtaCutoff(0.001))
    # Edits behind a cut bring survivors from anywhere.
    add("normal", TopK(50), RepetitionPenalty(0.5), TopP(0.7))
    add("bfloat16", TypicalP(0.9), FrequencyPenalty(-3.0), Temperature(1.5), TopK(20))
    add("levels", TopP(0.99), RepetitionPenalty(1.5), Xtc(threshold=0.01, probability=1), TopK(9))
    add("zipf", TopK(400), DynamicTemperature(), PresencePenalty(2.0), TypicalP(0.8))
    return cases


def merging_case() -> Case:
    """Scores so close that the temperature makes many of them equal, behind a cut."""
    rng = np.random.default_rng(9)
    logits = (100 + rng.integers(0, 40, 3000) * 2.0**-17).astype(np.float32)
    chain = [TopK(1000), Temperature(1.5), TopP(0.3)]
    return Case(logits, SamplingSettings(chain=chain), [7], us=[0.7])


def names_of(case: Case) -> str:
    return "-".join(stage.name for stage in case.settings.chain) or "nothing"


@pytest.mark.parametrize("case", [*random_view_cases(), merging_case()], ids=names_of)
def test_a_view_shows_what_the_engine_computes(page, case):
    distribution = case.distribution
    everything = {
        one.token_id: one for one in distribution.candidates(distribution.before_cuts.row.count)
    }
    in_order = sorted(everything.values(), key=lambda one: one.rank)
    tokens = [in_order[place].token_id for place in (0, 20, len(in_order) // 2, len(in_order) - 1)]
    chosen = tokens[2]
    result = viewed(page, case, chosen=chosen, tokens=tokens)
    view = result["view"]
    raw_probs = distribution.raw.all_weights / distribution.raw.total

    def check(row):
        engine = everything[row["id"]]
        assert row["rank"] == engine.rank
        assert row["logit"] == engine.logit
        for name in ("prob", "cumulative", "final_prob"):
            assert row[name] == pytest.approx(getattr(engine, name), rel=1e-9, abs=1e-15), name
        assert row["removed_by"] == engine.removed_by
        assert row["raw_prob"] == pytest.approx(raw_probs[row["id"]], rel=1e-9)
        assert row["chosen"] == (row["id"] == chosen)

    shown = min(15, len(in_order))
    assert [row["id"] for row in view["rows"]] == [one.token_id for one in in_order[:shown]]
    for row in [*view["rows"], view["chosen"], *result["candidates"]]:
        check(row)
    assert [row["id"] for row in result["candidates"]] == tokens

    rows = {row["id"]: row for row in [*view["rows"], view["chosen"]]}
    others = view["others"]
    assert others["count"] == case.logits.size - len(rows)
    for name in ("prob", "final_prob"):
        total = sum(row[name] for row in rows.values()) + others[name]
        assert total == pytest.approx(1, abs=1e-9)
    removed = {
        stage.name
        for stage in distribution.stages
        if set(np.flatnonzero((stage.before.scores > -np.inf) & ~stage.kept)) - set(rows)
    }
    assert others["removed_by"] == (
        "several" if len(removed) > 1 else next(iter(removed)) if removed else None
    )
    assert others["kept"] == distribution.survivors - sum(
        row["removed_by"] is None for row in rows.values()
    )

    curve = view["curve"]
    assert curve["ranks"][-1] == len(in_order)
    assert curve["ranks"][:100] == list(range(1, min(100, len(in_order)) + 1))
    names = {"probs": "prob", "cumulative": "cumulative", "final": "final_prob"}
    for name, attribute in names.items():
        engine = [getattr(in_order[rank - 1], attribute) for rank in curve["ranks"]]
        assert curve[name] == pytest.approx(engine, rel=1e-9, abs=1e-13), name

    left = distribution.stages[-1].after if distribution.stages else Survivors(distribution.raw)
    for name, survivors in (("leaders", left), ("model_leaders", Survivors(distribution.raw))):
        assert [row["id"] for row in view[name]] == survivors.ids[:2].tolist()
        shares = survivors.probs[survivors.ids[:2]]
        assert [row["share"] for row in view[name]] == pytest.approx(shares, rel=1e-9)

    assert view["kept"] == distribution.survivors
    kept = [one for one in in_order if one.removed_by is None]
    if any(isinstance(stage.stage, CutStage) for stage in distribution.stages):
        assert view["cut"]["first_rank"] == kept[0].rank
        assert view["cut"]["after_rank"] == kept[-1].rank
        assert view["cut"]["kept"] == len(kept)
        assert view["cut"]["mass"] == pytest.approx(sum(one.prob for one in kept))
        below = in_order[kept[-1].rank :][:1]
        assert view["cut"]["stage"] == (below[0].removed_by if below else None)
        above = {one.removed_by for one in in_order[: kept[0].rank - 1]}
        assert set(view["cut"]["above"]) == above and len(view["cut"]["above"]) == len(above)
    elif not case.settings.is_greedy:
        assert view["cut"] is None
    check_stages(view, case, everything)
    assert view["entropy"]["tempered"] == pytest.approx(distribution.entropy_bits)
    assert view["entropy"]["final"] == pytest.approx(distribution.final_entropy_bits, abs=1e-12)
    assert view["greedy"] == case.settings.is_greedy
    assert view["as_recorded"]
    assert view["emptied_by"] is None
    assert (view["exact"], view["inexact_because"]) == (True, None)
    if case.settings.is_greedy:
        assert view["draw"] is None
    else:
        token_id = distribution.sample(case.us[0])
        assert (view["draw"]["id"], view["draw"]["rank"]) == (token_id, everything[token_id].rank)
        assert view["draw"]["from"] <= case.us[0] < view["draw"]["to"]
        assert view["draw"]["same"] == (token_id == chosen)


def check_stages(view, case, everything):
    """The entries of the cards, those of stages that are off among them."""
    engine = {stage.name: stage for stage in case.distribution.stages}
    assert [stage["name"] for stage in view["stages"]] == list(cards_of(case.settings))
    left = case.distribution.raw.count
    for own in view["stages"]:
        assert own["on"] == (own["name"] in engine)
        stage = engine.get(own["name"])
        assert own["before"] == left
        left = left if stage is None else stage.survivors
        assert own["after"] == left
        if stage is None:
            assert (own["last_rank"], own["figures"], own["mass_removed"]) == (None, {}, 0)
            continue
        if own["last_rank"] is not None:
            ranks = [everything[int(token)].rank for token in stage.after.ids]
            assert (own["first_rank"], own["last_rank"]) == (min(ranks), max(ranks))
        if isinstance(stage.stage, EditStage) and "edited" in own["figures"]:
            changed = np.flatnonzero(stage.after.scores != stage.before.scores)
            assert own["figures"]["edited_count"] == changed.size
            assert len(own["figures"]["edited"]) == min(12, changed.size)
            for edited in own["figures"]["edited"]:
                assert edited["from"] == stage.before.scores[edited["id"]]
                after = stage.after.scores[edited["id"]]
                assert edited["to"] == (after if np.isfinite(after) else -math.inf)
            gone = changed[stage.after.scores[changed] == -np.inf]
            rose = np.sum(stage.after.scores[changed] > stage.before.scores[changed])
            assert (own["figures"]["banned"], own["figures"]["rose"]) == (gone.size, rose)
            for name, survivors in (("before", stage.before), ("after", stage.after)):
                share = survivors.probs[changed].sum()
                assert own["figures"][f"share_{name}"] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("case", [*random_view_cases(), merging_case()], ids=names_of)
def test_a_trace_follows_a_token_through_the_chain(page, case):
    distribution = case.distribution
    order = np.argsort(-case.logits, kind="stable")
    tokens = [int(order[place]) for place in (0, 1, 5, 30, 200, 2999)]
    for token, trace in zip(tokens, viewed(page, case, tokens=tokens)["traces"], strict=True):
        assert [point["name"] for point in trace] == ["raw", *(s.name for s in distribution.stages)]
        survivors = [Survivors(distribution.raw), *(stage.after for stage in distribution.stages)]
        last = None
        for point, left in zip(trace, survivors, strict=True):
            is_in = left.scores[token] > -np.inf
            assert point["removed"] == (not is_in)
            if not is_in:
                assert (point["rank"], point["prob"]) == (None, 0)
                assert point["score"] == (-math.inf if last is None else last)
                continue
            last = float(left.scores[token])
            assert point["score"] == last
            assert point["rank"] == 1 + int(np.flatnonzero(left.ids == token)[0])
            assert point["prob"] == pytest.approx(left.probs[token], rel=1e-9)


def test_points_show_the_distribution_as_it_stands_there(page):
    settings = SamplingSettings(repetition_penalty=1.5, temperature=0.5, top_k=30, top_p=0.7)
    rng = np.random.default_rng(5)
    logits = random_row(rng, 2000, "normal")
    order = np.argsort(-logits, kind="stable")
    case = Case(logits, settings, [int(token) for token in order[:10:2]], [0.5])
    views = [viewed(page, case, chosen=3, point=point)["view"] for point in range(7)]

    names = ["raw", *(stage.name for stage in settings.chain), "renormalised", "drawn"]
    assert [point["name"] for point in views[0]["points"]] == names
    after = [2000, 2000, 2000, 30, case.distribution.survivors]
    assert [view["kept"] for view in views] == [*after, after[-1], after[-1]]
    assert [row["id"] for row in views[0]["rows"]] == order[:15].tolist()
    ranked = case.distribution.before_cuts.ids[:15].tolist()
    for view in views[1:]:
        assert [row["id"] for row in view["rows"]] == ranked
    for view, factor in ((views[0], None), (views[1], 1), (views[2], 2), (views[6], 2)):
        for row in view["rows"]:
            score = row["logit"]
            if factor and row["id"] in case.context:
                score = score / 1.5 if score > 0 else score * 1.5
            assert row["score"] == pytest.approx(score * (factor or 1), rel=1e-6)
    assert [view["cut"] for view in views[:3]] == [None] * 3
    assert [view["cut"]["stage"] for view in views[3:5]] == ["top_k", "top_p"]
    assert {row["removed_by"] for view in views[:3] for row in view["rows"]} == {None}
    assert all(row["final_prob"] is None for view in views[:5] for row in view["rows"])
    assert all(value is None for value in views[4]["curve"]["final"])
    assert sum(row["final_prob"] for row in views[5]["rows"]) > 0
    assert [view["draw"] is None for view in views] == [True] * 6 + [False]


def test_a_forced_token_without_a_logit_stands_behind_all_others(page):
    logits = np.array([1, -np.inf, 3, 2], np.float32)
    result = viewed(page, Case(logits, SamplingSettings(top_k=2), []), chosen=1, tokens=[1])
    chosen = result["view"]["chosen"]
    assert (chosen["rank"], chosen["prob"], chosen["final_prob"]) == (4, 0, 0)
    assert result["candidates"][0]["rank"] == 4
    assert result["admitted"] == [None]
    assert result["view"]["others"]["count"] == 0


# --- while playing: the tail in bins -----------------------------------------------------------


@pytest.mark.parametrize("number", range(8))
def test_a_binned_row_shows_the_engines_cuts(page, number):
    rng = np.random.default_rng([6, number])
    chain = [
        {"temperature": 0.8},
        {"temperature": 1.2, "top_p": 0.95},
        {"top_k": 100, "top_p": 0.9},
        {"temperature": 1.5, "top_p": 0.999},
        {"repetition_penalty": 1.2, "temperature": 0.7, "min_p": 0.02},
        {"repetition_penalty": 1.3, "top_k": 20_000},
        {"typical_p": 0.6},
        {"temperature": 2.0, "xtc": Xtc(threshold=0.0001, probability=1), "eta_cutoff": 0.0001},
    ][number]
    logits = random_row(rng, LARGE, "zipf" if number % 2 else "normal")
    context = rng.integers(0, LARGE, 100).tolist()
    case = Case(logits, SamplingSettings(**chain), context, [float(rng.random() * 0.9)])
    distribution = case.distribution
    token_id = distribution.sample(case.us[0])
    result = viewed(page, case, chosen=token_id, exact=False)
    view = result["view"]

    assert not view["exact"]
    assert view["kept"] == distribution.survivors
    on = [stage for stage in view["stages"] if stage["on"]]
    for own, stage in zip(on, distribution.stages, strict=True):
        assert own["after"] == stage.survivors
        assert own["mass_removed"] == stage.mass_removed
        assert own["entropy_after"] == stage.entropy_bits
    for row, engine in zip(view["rows"], distribution.candidates(15), strict=True):
        assert (row["id"], row["rank"]) == (engine.token_id, engine.rank)
        assert row["removed_by"] == engine.removed_by
        for name in ("prob", "cumulative", "final_prob"):
            assert row[name] == pytest.approx(getattr(engine, name), rel=1e-4), name
    assert (view["draw"]["id"], view["draw"]["same"]) == (token_id, True)


def test_other_settings_than_the_engines_are_worked_out_from_the_bins(page):
    logits = random_row(np.random.default_rng(8), LARGE, "normal")
    case = Case(logits, SamplingSettings(temperature=0.8), [1], [0.3])
    token_id = case.distribution.sample(0.3)
    changed = SamplingSettings(temperature=1.2, top_p=0.9)
    settings = plain_settings(changed)
    view = viewed(page, case, chosen=token_id, exact=False, settings=settings)["view"]
    engine = shape(logits, changed)
    assert not view["as_recorded"]
    assert view["kept"] == pytest.approx(engine.survivors, rel=1e-3)
    assert view["entropy"]["final"] == pytest.approx(engine.final_entropy_bits, rel=1e-4)
    for row, candidate in zip(view["rows"], engine.candidates(15), strict=True):
        assert row["final_prob"] == pytest.approx(candidate.final_prob, rel=1e-3)
