"""The browser's arithmetic against the engine's: the same tokens kept, the same odds and draws.

Rows, texts and chains are random with the seeds stated here.
"""

import numpy as np
import pytest

from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.stages import Banned, DynamicTemperature, TopK, TopP, TypicalP, Xtc, remarks
from tests.browser.arithmetic import (
    FEW,
    KINDS,
    LARGE,
    SMALL,
    TINY,
    Case,
    differences,
    measured,
    random_case,
    random_names,
    random_row,
    random_text,
)
from tests.browser.modules import modules_page

# By vocabulary: seed, rows of random chains, chains a row; rows on which every stage acts alone.
RANDOM = {TINY: (1, 90, 10, 18), FEW: (2, 90, 10, 18), SMALL: (3, 36, 5, 12), LARGE: (4, 24, 4, 6)}


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(
        browser, "kernel/context.js", "kernel/row.js", "kernel/shape.js", "view/remarks.js"
    ) as page:
        yield page


def failures(page, rows: list[list[Case]]) -> list[tuple]:
    """Chains with everything in which the browser and the engine differ."""
    pairs = (
        (case, result)
        for cases, results in zip(rows, measured(page, rows), strict=True)
        for case, result in zip(cases, results, strict=True)
    )
    found = [(case.settings.chain, differences(case, result)) for case, result in pairs]
    assert len(found) == sum(map(len, rows)) > 0
    return [entry for entry in found if entry[1]]


@pytest.mark.parametrize("vocab", RANDOM)
def test_browser_and_engine_agree_on_random_rows_and_chains(page, vocab):
    seed, rows, chains, _ = RANDOM[vocab]
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(rows):
        logits = random_row(rng, vocab, KINDS[number % len(KINDS)])
        text = random_text(rng, logits)
        cases.append([random_case(rng, logits, random_names(rng), text) for _ in range(chains)])
    assert failures(page, cases) == []


@pytest.mark.parametrize("vocab", RANDOM)
def test_browser_and_engine_agree_on_every_stage_alone(page, vocab):
    seed, _, _, rows = RANDOM[vocab]
    rng = np.random.default_rng([seed, 1])
    cases = []
    for number in range(rows):
        logits = random_row(rng, vocab, KINDS[number % len(KINDS)])
        text = random_text(rng, logits)
        cases.append([random_case(rng, logits, [kind.setting], text) for kind in DEFAULT_ORDER])
    assert failures(page, cases) == []


def test_a_slider_gives_what_a_fresh_row_gives(page):
    """What is remembered of the chain before, one stage or the order changed, does not show."""
    rng = np.random.default_rng(5)
    logits = random_row(rng, 3000, "normal")
    text = random_text(rng, logits)
    case = random_case(rng, logits, ["logit_bias", "dry", "temperature", "typical_p", "xtc"], text)
    chain = list(case.settings.chain)
    moved = [chain, chain[1:], [*chain[:2], chain[3], chain[2], chain[4]], [*chain, TopK(5)], chain]
    changed = random_case(rng, logits, ["temperature"], text).settings.chain[0]
    moved += [[*chain[:2], changed, *chain[3:]], chain]
    cases = [
        Case(
            logits,
            SamplingSettings(chain=each),
            text,
            us=[0.3],
            prompt_length=case.prompt_length,
            eos_ids=case.eos_ids,
            xtc_u=case.xtc_u,
        )
        for each in moved
    ]
    assert failures(page, [cases]) == []


def test_the_comparison_notices_slightly_other_settings(page):
    rng = np.random.default_rng(3)
    chains = [{"top_p": 0.9}, {"temperature": 0.7}, {"min_p": 1e-6}, {"typical_p": 0.9}]
    chains += [{"tail_free": 0.95}, {"top_n_sigma": 2.0}]
    rows = [
        [Case(random_row(rng, SMALL, "normal"), SamplingSettings(**chain), [], [0.5])]
        for chain in chains
    ]

    def perturb(chain):
        return [{**stage, "value": stage["value"] * 0.99} for stage in chain]

    for cases, results in zip(rows, measured(page, rows, perturb=perturb), strict=True):
        assert differences(cases[0], results[0])


def test_exactly_at_an_edge_the_browser_decides_as_the_engine(page):
    four = np.zeros(4, np.float32)
    chains = [
        {"top_p": 0.5},
        {"top_p": 0.25},
        {"top_p": 0.75, "top_k": 2},
        {"min_p": 1.0},
        {"typical_p": 0.5},
        {"epsilon_cutoff": 0.25},
        {"epsilon_cutoff": 0.3},
        {"top_n_sigma": 1.0},
        {"tail_free": 0.5},
        {"xtc": Xtc(threshold=0.25, probability=1.0)},
        {"dynamic_temperature": DynamicTemperature()},
        {},
    ]
    cases = [Case(four, SamplingSettings(**chain), [], [0, 0.25, 0.5, 0.75]) for chain in chains]
    results = measured(page, [cases])[0]
    found = [differences(case, own) for case, own in zip(cases, results, strict=True)]
    assert found == [[]] * len(cases)
    assert [own["stages"][-1]["count"] for own in results[:2]] == [2, 1]
    assert [draw["id"] for draw in results[-1]["draws"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("after", [[], [TopP(0.9), DynamicTemperature()]], ids=["last", "more"])
def test_a_chain_that_leaves_nobody_says_which_stage_took_the_last(page, after):
    four = np.array([1, 2, 3, 4], np.float32)
    chain = [TopK(1), Banned([[3], [1]]), *after]
    case = Case(four, SamplingSettings(chain=chain), [], [0.5])
    (result,) = measured(page, [[case]])[0]
    assert differences(case, result) == []
    assert result["emptied_by"] == "banned"
    assert [stage["count"] for stage in result["stages"]] == [1, 0, *(0 for _ in after)]


def test_an_edit_of_a_token_whose_rank_is_not_known_is_named(page):
    logits = random_row(np.random.default_rng(6), LARGE, "normal")
    token = int(np.argmin(logits))
    case = Case(logits, SamplingSettings(logit_bias={token: 3.0}), [])
    told = measured(page, [[case]])[0][0]
    assert told["unknown"] == []
    chain = [{"name": "logit_bias", "value": {"bias": [[token, 3.0]]}}]
    untold = Case(logits, SamplingSettings(top_p=0.9), [])
    (result,) = measured(page, [[untold]], perturb=lambda _: chain)[0]
    assert result["unknown"] == [token]


def test_the_page_and_the_engine_have_the_same_stages(page):
    off = page.evaluate("window.modules.OFF")
    numbers = {name: kind.off for name, kind in STAGES.items() if isinstance(kind.off, int | float)}
    assert list(off) == list(STAGES) == page.evaluate("window.modules.DEFAULT_ORDER")
    assert {name: value for name, value in off.items() if value is not None} == numbers


def test_the_page_remarks_on_chains_as_the_engine_does(page):
    rng = np.random.default_rng(7)
    logits = random_row(rng, FEW, "normal")
    chains = [random_case(rng, logits, random_names(rng)).settings.chain for _ in range(300)]
    chains.append((Xtc(threshold=0.6), TypicalP(0.5), DynamicTemperature(low=1, high=1)))
    plain = [Case(logits, SamplingSettings(chain=chain), []).chain for chain in chains]
    own = page.evaluate("chains => chains.map(chain => window.modules.remarks(chain))", plain)
    seen = set()
    for chain, remarked in zip(chains, own, strict=True):
        engine = {remark.stage: (remark.reason, remark.has_effect) for remark in remarks(chain)}
        found = {
            stage: (remark["reason"], remark["has_effect"])
            for stage, remark in zip(chain, remarked, strict=True)
            if remark
        }
        assert found == engine
        seen |= {reason for reason, _ in found.values()}
    assert len(seen) >= 7
