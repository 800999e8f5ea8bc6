"""The browser's arithmetic against the engine's: the same tokens kept, the same odds and draws.

Rows and settings are random with the seeds stated here. Rows go to Chromium as `pack_row` packs
them, and Chromium runs the component's own modules.
"""

import base64
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from engine.sampling import STAGES, Context, Distribution, SamplingSettings, shape
from tests.browser.modules import modules_page
from ui.components.step.rows import HEAD, pack_row
from ui.events import SETTINGS

SMALL, LARGE = 16_384, 151_936
ROWS, CASES_PER_ROW = 40, 5  # 200 cases a vocabulary
PROBS = 400  # leading survivors whose probability is compared

MEASURE = """(batch) => {
  const { unpack_row, shape } = window.modules;
  const base64 = array => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    let text = '';
    for (let start = 0; start < bytes.length; start += 8192) {
      text += String.fromCharCode(...bytes.subarray(start, start + 8192));
    }
    return btoa(text);
  };
  const survivors_of = ({ ranking, start, stop }) => ({
    count: stop - start,
    last: ranking.value_at(stop),
    ids: base64(Uint32Array.from(ranking.ids.subarray(start, stop))),
  });
  return batch.map(({ header, data, cases }) => {
    const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
    const row = unpack_row(header, bytes.buffer, 0);
    return cases.map(({ chain, context, us }) => {
      const shaped = shape(row, chain, { context: new Set(context) });
      const { ranking, mass, start, count } = shaped.final;
      const ranks = Array.from({ length: Math.min(count, PROBS) }, (_, place) => start + 1 + place);
      return {
        raw_entropy: shaped.raw.entropy_bits,
        tempered_entropy: shaped.tempered_entropy,
        start: survivors_of(shaped.before_cuts),
        stages: shaped.stages.map(stage => ({
          ...survivors_of(stage.after),
          mass_removed: stage.mass_removed,
          entropy: stage.entropy_bits,
        })),
        probs: [...ranks, shaped.final.stop].map(rank => ranking.weight_at(rank) / mass),
        draws: us.map(u => shaped.draw(u)),
      };
    });
  });
}""".replace("PROBS", str(PROBS))


@dataclass
class Case:
    """A row, what is done to it, and the numbers it is drawn with."""

    logits: np.ndarray
    settings: SamplingSettings
    context: list[int]
    us: list[float] = field(default_factory=list)

    @property
    def distribution(self) -> Distribution:
        return shape(self.logits, self.settings, Context(np.array(self.context, np.int64)))

    @property
    def chain(self) -> list[dict]:
        return [{"name": stage.setting, "value": stage.value} for stage in self.settings.chain]


# --- random rows and settings ------------------------------------------------------------------


def bfloat16(logits: np.ndarray) -> np.ndarray:
    return (logits.view(np.uint32) & 0xFFFF_0000).view(np.float32)


def random_row(rng: np.random.Generator, vocab: int, kind: str) -> np.ndarray:
    if kind == "zipf":
        ranks = rng.permutation(vocab) + 1
        logits = 20 - rng.uniform(0.8, 2) * np.log(ranks) + rng.normal(0, 0.3, vocab)
    else:
        logits = rng.normal(rng.uniform(-8, 8), rng.uniform(0.5, 6), vocab)
    logits = logits.astype(np.float32)
    if kind == "bfloat16":
        return bfloat16(logits)
    if kind == "levels":  # ties everywhere: an edge lies within equal scores almost always
        return np.round(logits * 2) / np.float32(2)
    if kind == "banned":
        logits[rng.random(vocab) < rng.choice([0.01, 0.5, 0.999])] = -np.inf
        logits[rng.integers(vocab)] = 3
    return logits


KINDS = ("normal", "zipf", "bfloat16", "levels", "banned")


def random_settings(rng: np.random.Generator, vocab: int) -> SamplingSettings:
    """Every stage on in half of the cases, seldom in an order of its own."""
    values = {
        "repetition_penalty": rng.choice([0.5, 0.8, 1.05, 1.1, 1.3, 2.0, rng.uniform(0.5, 2)]),
        "temperature": rng.choice([0, 1e-6, 0.05, 0.3, 0.7, 1.3, 2, 50, 1e6, rng.uniform(0.1, 2)]),
        "top_k": rng.choice([1, 2, 40, 200, 5000, vocab, rng.integers(1, vocab)]),
        "top_p": rng.choice([1e-4, 0.1, 0.5, 0.9, 0.95, 0.99, 0.9999, rng.uniform(0.01, 1)]),
        "min_p": rng.choice([1e-6, 1e-3, 0.02, 0.05, 0.3, 1, rng.uniform(0, 1)]),
    }
    chosen = {name: value.item() for name, value in values.items() if rng.random() < 0.5}
    if "top_k" in chosen:
        chosen["top_k"] = int(chosen["top_k"])
    settings = SamplingSettings(**chosen)
    if rng.random() < 0.2:
        settings = SamplingSettings(
            chain=[settings.chain[place] for place in rng.permutation(len(settings.chain))]
        )
    return settings


def random_cases(seed: int, vocab: int) -> list[list[Case]]:
    """Cases by row."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(ROWS):
        logits = random_row(rng, vocab, KINDS[number % len(KINDS)])
        best = np.argsort(-logits)[:50]  # a text repeats itself, so its tokens rank high
        context = [*rng.integers(0, vocab, 60).tolist(), *rng.choice(best, 12).tolist(), vocab + 5]
        rows.append(
            [
                Case(logits, random_settings(rng, vocab), context, [0, 0.999, *rng.random(4)])
                for _ in range(CASES_PER_ROW)
            ]
        )
    return rows


def measured(page, rows: list[list[Case]], *, perturb=lambda chain: chain) -> list[list[dict]]:
    """What the browser makes of the cases; a few rows at a time."""
    results = []
    for first in range(0, len(rows), 10):
        batch = []
        for cases in rows[first : first + 10]:
            header, data = pack_row(cases[0].logits, seen=cases[0].context, exact=True)
            batch.append(
                {
                    "header": header,
                    "data": base64.b64encode(data).decode(),
                    "cases": [
                        {"chain": perturb(case.chain), "context": case.context, "us": case.us}
                        for case in cases
                    ],
                }
            )
        results += page.evaluate(MEASURE, batch)
    return results


# --- the comparison ----------------------------------------------------------------------------


def differences(case: Case, result: dict) -> list[str]:
    """Everything in which the browser's result is not the engine's."""
    distribution = case.distribution
    found = []

    def compare(what: str, own, engine, tolerance: float = 0.0) -> None:
        if not math.isclose(own, engine, rel_tol=tolerance, abs_tol=tolerance):
            found.append(f"{what}: {own!r} here, {engine!r} in the engine")

    def compare_survivors(what: str, own: dict, survivors) -> None:
        ids = np.frombuffer(base64.b64decode(own["ids"]), np.uint32)
        compare(f"{what} count", own["count"], survivors.count)
        compare(f"{what} last score", own["last"], float(survivors.row.scores[survivors.ids[-1]]))
        if case.logits.size == SMALL and ids.size != own["count"]:
            found.append(f"{what}: only {ids.size} ids of {own['count']}")
        least = min(own["count"], HEAD - 2 * len(case.context))
        if ids.size < least and distribution.raw.count > HEAD:
            found.append(f"{what}: only {ids.size} ids known")
        if not np.array_equal(ids, survivors.ids[: ids.size]):
            found.append(f"{what}: other ids")

    compare("entropy", result["raw_entropy"], distribution.raw.entropy_bits, 1e-9)
    compare("tempered", result["tempered_entropy"], distribution.entropy_bits, 1e-9)
    compare_survivors("before the cuts", result["start"], distribution.before_cuts)
    final = distribution.before_cuts
    for own, stage in zip(result["stages"], distribution.stages, strict=True):
        compare_survivors(stage.name, own, stage.after)
        compare(f"{stage.name} mass removed", own["mass_removed"], stage.mass_removed, 1e-9)
        compare(f"{stage.name} entropy", own["entropy"], stage.entropy_bits, 1e-9)
        final = stage.after

    probs = final.weights / final.mass
    engine_probs = np.append(probs[:PROBS], probs[-1])
    own_probs = np.array(result["probs"])
    if own_probs.shape != engine_probs.shape:
        found.append("other number of probabilities")
    elif not np.allclose(own_probs, engine_probs, rtol=1e-11, atol=1e-15):
        found.append(f"probabilities: off by {np.abs(own_probs - engine_probs).max()}")
    for u, own in zip(case.us, result["draws"], strict=True):
        place = final.rank_at(u)
        compare(f"rank drawn at {u}", own["rank"], place + 1)
        drawn = distribution.draw(u)
        compare(f"probability drawn at {u}", own["probability"], drawn.probability, 1e-11)
        if own["id"] not in (None, drawn.token_id) or (place < 3000 and own["id"] is None):
            found.append(f"token drawn at {u}: {own['id']}")
        if not own["from"] - 1e-12 <= u <= own["to"] + 1e-12:
            found.append(f"{u} does not lie in [{own['from']}, {own['to']})")
    return found


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(browser, "row.js", "shape.js", "view.js") as page:
        yield page


@pytest.mark.parametrize(("vocab", "seed"), [(SMALL, 1), (LARGE, 2)])
def test_browser_and_engine_agree_on_random_rows(page, vocab, seed):
    rows = random_cases(seed, vocab)
    found = [
        (case.settings.chain, differences(case, result))
        for cases, results in zip(rows, measured(page, rows), strict=True)
        for case, result in zip(cases, results, strict=True)
    ]
    assert len(found) == ROWS * CASES_PER_ROW
    assert [entry for entry in found if entry[1]] == []


def test_the_comparison_notices_slightly_other_settings(page):
    rng = np.random.default_rng(3)
    rows = [
        [Case(random_row(rng, SMALL, "normal"), SamplingSettings(top_p=0.9), [], [0.5])],
        [Case(random_row(rng, SMALL, "normal"), SamplingSettings(temperature=0.7), [], [0.5])],
        [Case(random_row(rng, SMALL, "normal"), SamplingSettings(min_p=1e-6), [], [0.5])],
    ]

    def perturb(chain):
        return [{**stage, "value": stage["value"] * 0.99} for stage in chain]

    for cases, results in zip(rows, measured(page, rows, perturb=perturb), strict=True):
        assert differences(cases[0], results[0])


def test_exactly_at_an_edge_the_browser_decides_as_the_engine(page):
    four = np.zeros(4, np.float32)
    chains = [{"top_p": 0.5}, {"top_p": 0.25}, {"top_p": 0.75, "top_k": 2}, {"min_p": 1.0}, {}]
    cases = [Case(four, SamplingSettings(**chain), [], [0, 0.25, 0.5, 0.75]) for chain in chains]
    results = measured(page, [cases])[0]
    assert [differences(case, own) for case, own in zip(cases, results, strict=True)] == [[]] * 5
    assert [own["stages"][-1]["count"] for own in results[:2]] == [2, 1]
    assert [draw["id"] for draw in results[-1]["draws"]] == [0, 1, 2, 3]


# --- the view ----------------------------------------------------------------------------------

VIEW = """({ header, data, state, tokens }) => {
  const { unpack_row, make_view, candidate, admit } = window.modules;
  const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
  state.row = { ...unpack_row(header, bytes.buffer, 0), ...state.row, labels: new Map() };
  const view = make_view(state);
  return {
    view,
    candidates: tokens.map(token => candidate(state, view, token)),
    admitted: tokens.map(token => admit(state, token)),
  };
}"""


def viewed(page, case: Case, *, chosen=None, point=None, exact=True, tokens=(), settings=None):
    """The view of a case, and what the browser says of some tokens.

    `settings` are what the browser's sliders stand at, where not at what the step was taken with.
    """
    seen = [*case.context, chosen] if chosen is not None else case.context
    header, data = pack_row(case.logits, seen=seen, exact=exact)
    distribution = case.distribution
    recorded = {name: getattr(case.settings, name) for name in SETTINGS}
    prompt, earlier = case.context[:-1], case.context[-1:]
    state = {
        "row": {
            "index": len(earlier),
            "is_pending": chosen is None,
            "u": case.us[0] if case.us else None,
            "chosen": chosen,
            "forced": False,
            "recorded_settings": recorded,
            "engine_settings": recorded,
            "engine_stages": [
                {
                    "name": stage.name,
                    "survivors": stage.survivors,
                    "mass_removed": stage.mass_removed,
                    "entropy_bits": stage.entropy_bits,
                }
                for stage in distribution.stages
            ],
        },
        "prompt_tokens": [{"id": token_id} for token_id in prompt],
        "steps": [*({"id": token_id} for token_id in earlier), {"id": chosen, "label": "chosen"}],
        "settings": recorded if settings is None else settings,
        "row_count": 15,
        "point": point,
        "manual": False,
    }
    raw = distribution.raw
    found = [
        {"id": int(token), "raw_rank": raw.rank(token), "logit": number_or_none(case.logits[token])}
        for token in tokens
    ]
    argument = {"header": header, "data": base64.b64encode(data).decode(), "state": state}
    return page.evaluate(VIEW, {**argument, "tokens": found})


def number_or_none(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def view_cases() -> list[Case]:
    rng = np.random.default_rng(4)
    context = rng.integers(0, 3000, 30).tolist()
    chains = [
        {},
        {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.02},
        {"repetition_penalty": 1.4, "temperature": 1.3, "top_p": 0.8},
        {"repetition_penalty": 0.6, "temperature": 0.0},
        {"top_k": 3},
        {"repetition_penalty": 1.8, "min_p": 0.2},
    ]
    kinds = ("normal", "zipf", "bfloat16", "banned", "levels", "normal")
    return [
        Case(random_row(rng, 3000, kind), SamplingSettings(**chain), context, [float(rng.random())])
        for kind, chain in zip(kinds, chains, strict=True)
    ]


@pytest.mark.parametrize("case", view_cases(), ids=lambda case: str(case.settings.chain))
def test_a_view_shows_what_the_engine_computes(page, case):
    distribution = case.distribution
    everything = {one.token_id: one for one in distribution.candidates(distribution.raw.count)}
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
    hidden = {one.removed_by for one in in_order if one.token_id not in rows}
    stages = hidden - {None}
    assert others["removed_by"] == (
        "several" if len(stages) > 1 else next(iter(stages)) if stages else None
    )
    assert others["kept"] == sum(
        one.removed_by is None for one in in_order if one.token_id not in rows
    )

    curve = view["curve"]
    assert curve["ranks"][-1] == len(in_order)
    assert curve["ranks"][:100] == list(range(1, min(100, len(in_order)) + 1))
    names = {"probs": "prob", "cumulative": "cumulative", "final": "final_prob"}
    for name, attribute in names.items():
        engine = [getattr(in_order[rank - 1], attribute) for rank in curve["ranks"]]
        assert curve[name] == pytest.approx(engine, rel=1e-9, abs=1e-13), name

    assert view["kept"] == distribution.survivors
    if distribution.survivors < len(in_order):
        kept = [one for one in in_order if one.removed_by is None]
        assert view["cut"]["after_rank"] == kept[-1].rank
        assert view["cut"]["kept"] == len(kept)
        assert view["cut"]["mass"] == pytest.approx(sum(one.prob for one in kept))
    else:
        assert view["cut"] is None
    engine_stages = {stage.name: stage for stage in distribution.stages}
    assert [stage["name"] for stage in view["stages"]] == list(STAGES)
    for stage in view["stages"]:
        assert stage["on"] == (stage["name"] in engine_stages)
        if stage["on"]:
            assert stage["after"] == engine_stages[stage["name"]].survivors
            assert stage["before"] == engine_stages[stage["name"]].before.count
    assert view["entropy"]["tempered"] == pytest.approx(distribution.entropy_bits)
    assert view["entropy"]["final"] == pytest.approx(distribution.final_entropy_bits, abs=1e-12)
    assert view["greedy"] == case.settings.is_greedy
    assert view["as_recorded"]
    if case.settings.is_greedy:
        assert view["draw"] is None
    else:
        token_id = distribution.sample(case.us[0])
        assert (view["draw"]["id"], view["draw"]["rank"]) == (token_id, everything[token_id].rank)
        assert view["draw"]["from"] <= case.us[0] < view["draw"]["to"]
        assert view["draw"]["same"] == (token_id == chosen)


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


@pytest.mark.parametrize("number", range(6))
def test_a_binned_row_shows_the_engines_cuts(page, number):
    rng = np.random.default_rng([6, number])
    chain = [
        {"temperature": 0.8},
        {"temperature": 1.2, "top_p": 0.95},
        {"top_k": 100, "top_p": 0.9},
        {"temperature": 1.5, "top_p": 0.999},
        {"repetition_penalty": 1.2, "temperature": 0.7, "min_p": 0.02},
        {"repetition_penalty": 1.3, "top_k": 20_000},
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
    settings = {name: getattr(case.settings, name) for name in SETTINGS}
    token_id = case.distribution.sample(0.3)
    changed = SamplingSettings(temperature=1.2, top_p=0.9)
    view = viewed(
        page,
        case,
        chosen=token_id,
        exact=False,
        settings={**settings, "temperature": 1.2, "top_p": 0.9},
    )["view"]
    engine = shape(logits, changed)
    assert not view["as_recorded"]
    assert view["kept"] == pytest.approx(engine.survivors, rel=1e-3)
    assert view["entropy"]["final"] == pytest.approx(engine.final_entropy_bits, rel=1e-4)
    for row, candidate in zip(view["rows"], engine.candidates(15), strict=True):
        assert row["final_prob"] == pytest.approx(candidate.final_prob, rel=1e-3)


# --- what would let a token in -----------------------------------------------------------------


NOTCH = {"temperature": 0.05, "repetition_penalty": 0.05, "top_p": 0.01, "min_p": 0.01, "top_k": 1}
ADMIT_CHAINS = [
    {"top_k": 10},
    {"top_p": 0.5, "temperature": 0.8},
    {"min_p": 0.5},
    {"temperature": 0.0},
    {"repetition_penalty": 1.9, "min_p": 0.3},
    {"top_k": 50, "top_p": 0.8, "min_p": 0.02},
]


@pytest.mark.parametrize("chain", ADMIT_CHAINS, ids=str)
@pytest.mark.parametrize("kind", ["normal", "bfloat16"])
def test_admit_names_the_smallest_change_that_lets_a_token_in(page, chain, kind):
    rng = np.random.default_rng(7)
    logits = random_row(rng, 2000, kind) / np.float32(2)
    order = np.argsort(-logits, kind="stable")
    context = [int(token) for token in order[2:9]]
    case = Case(logits, SamplingSettings(**chain), context)
    tokens = [int(order[place]) for place in (0, 1, 4, 8, 15, 30, 60, 700)]
    admitted = viewed(page, case, tokens=tokens)["admitted"]
    assert any(admitted)

    def survives(token, name, value):
        changed = Case(case.logits, case.settings.replace(**{name: value}), case.context)
        return changed.distribution.probability(token) > 0

    for token, change in zip(tokens, admitted, strict=True):
        if case.distribution.probability(token) > 0:
            assert change is None
        if change is None:
            continue
        name, value = change["setting"], change["value"]
        assert survives(token, name, value)
        before = getattr(case.settings, name)
        if name == "top_k" and value == 0:
            value = logits.size
        nearer = round(value - math.copysign(NOTCH[name], value - before), 2)
        if abs(nearer - before) >= NOTCH[name] / 2:
            assert not survives(token, name, int(nearer) if name == "top_k" else nearer)


@pytest.mark.parametrize(
    ("chain", "place", "setting"),
    [
        ({"top_k": 10}, 15, "top_k"),
        ({"top_p": 0.5}, 300, "top_p"),
        ({"min_p": 0.5}, 300, "min_p"),
        ({"temperature": 0.0}, 1, "temperature"),
        ({"repetition_penalty": 2.0, "top_k": 1}, 0, "repetition_penalty"),
    ],
)
def test_admit_can_name_each_setting(page, chain, place, setting):
    logits = np.linspace(4, -4, 2000, dtype=np.float32)
    case = Case(logits, SamplingSettings(**chain), [0])
    (change,) = viewed(page, case, tokens=[place])["admitted"]
    assert change["setting"] == setting
