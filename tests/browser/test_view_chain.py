"""What a view says of its chain as a whole: the default order, stages without effect, the lines."""

import numpy as np
import pytest

from engine.sampling import SamplingSettings, shape
from engine.stages import (
    Banned,
    LogitBias,
    Mirostat,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    Xtc,
)
from tests.browser.arithmetic import LARGE, Case, random_row
from tests.browser.modules import modules_page
from tests.browser.views import viewed
from ui.shared.settings import plain_settings


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(browser, "kernel/row.js", "view/view.js") as page:
        yield page


def chain_view(page, *chain: Stage, logits=(4, 3, 2, 1), text=(), **options) -> dict:
    case = Case(np.array(logits, np.float32), SamplingSettings(chain=chain), list(text), [0.5])
    return viewed(page, case, **options)["view"]


def test_the_default_order_is_named_where_the_result_differs(page):
    # Softmax: .64 .24 .09 .03; at T = 2: .46 .28 .17 .10, so the nucleus of .8 grows from 2 to 3.
    assert chain_view(page, Temperature(2), TopP(0.8))["default_order"] == {
        "is_default": True,
        "kept": 3,
        "same": True,
        "sentence": "",
    }
    other = chain_view(page, TopP(0.8), Temperature(2))["default_order"]
    assert (other["is_default"], other["kept"], other["same"]) == (False, 3, True)
    assert other["sentence"] == (
        "In the default order (temperature, top-p) 3 tokens would stay instead of 2, "
        "and the same u draws the same token."
    )


def test_the_default_order_is_said_to_be_the_same_where_it_is(page):
    same = chain_view(page, TopK(2), Temperature(2))["default_order"]
    assert (same["is_default"], same["kept"], same["same"]) == (False, 2, True)
    assert same["sentence"].endswith("the result is the same here.")


def test_a_stage_without_effect_says_why(page):
    view = chain_view(page, Temperature(0), TopK(2), Banned([[1]]))
    top_k = next(stage for stage in view["stages"] if stage["name"] == "top_k")
    assert top_k["switched_off"] == "temperature 0 has already left a single token"
    banned = next(stage for stage in view["stages"] if stage["name"] == "banned")
    assert banned["switched_off"] is None
    assert banned["remark"] == "temperature 0 has left one token: it can only refuse that one"


def test_a_card_that_is_off_stays_in_its_place(page):
    settings = {
        "order": ["top_p", "logit_bias", "temperature", "dry", "top_k"],
        **{"top_p": 0.8, "logit_bias": {"bias": []}, "temperature": 1, "dry": None, "top_k": 3},
        **{"min_p": 0.9, "seed": 0},  # no card: off
    }
    view = chain_view(page, TopP(0.8), settings=settings)
    assert [stage["name"] for stage in view["stages"]] == settings["order"]
    on = [stage["name"] for stage in view["stages"] if stage["on"]]
    assert on == ["top_p", "top_k"] == [point["name"] for point in view["points"][1:-2]]
    assert [stage["after"] for stage in view["stages"]] == [2, 2, 2, 2, 2]
    assert not view["as_recorded"]


def test_nobody_left_is_shown_and_nothing_drawn(page):
    view = chain_view(page, TopK(1), Banned([[0]]), TopP(0.9))
    assert (view["emptied_by"], view["kept"], view["draw"]) == ("banned", 0, None)
    assert [row["removed_by"] for row in view["rows"]] == ["banned", *["top_k"] * 3]
    assert [row["final_prob"] for row in view["rows"]] == [0, 0, 0, 0]
    assert view["cut"]["kept"] == 0
    all_gone = chain_view(page, Banned([[0], [1], [2], [3]]))
    assert (all_gone["emptied_by"], all_gone["kept"]) == ("banned", 0)
    assert {row["removed_by"] for row in all_gone["rows"]} == {"banned"}


def test_an_edit_of_an_unknown_token_makes_the_view_inexact(page):
    logits = random_row(np.random.default_rng(10), LARGE, "normal")
    token = int(np.argmin(logits))
    case = Case(logits, SamplingSettings(chain=[LogitBias({token: 5.0}), TopK(9)]), [], [0.5])
    assert viewed(page, case)["view"]["exact"]
    view = viewed(page, case, seen=[])["view"]
    assert not view["exact"]
    assert view["inexact_because"] == (
        "The scores of one token that is edited have not come from the server yet."
    )


def test_mirostat_begins_anew_where_its_aim_is_moved(page):
    case = Case(
        random_row(np.random.default_rng(11), 3000, "normal"),
        SamplingSettings(chain=[Mirostat(tau=3)]),
        [],
        [0.5],
        mu=2.5,
    )
    view = viewed(page, case)["view"]
    assert view["stages"][-1]["figures"]["mu"] == 2.5
    assert view["kept"] == case.distribution.survivors
    moved = plain_settings(SamplingSettings(chain=[Mirostat(tau=4)]))
    view = viewed(page, case, chosen=5, settings=moved)["view"]
    assert view["stages"][-1]["figures"]["mu"] == 8
    assert view["kept"] == shape(case.logits, SamplingSettings(chain=[Mirostat(tau=4)])).survivors


def test_mirostat_goes_on_in_a_step_that_was_taken_without_it(page):
    """Switched on as a what-if, it starts from the bound that the step before left."""
    logits = random_row(np.random.default_rng(12), 3000, "normal")
    with_it = SamplingSettings(chain=[Mirostat(tau=3)])
    taken = Case(logits, SamplingSettings(), [], [0.5])
    engine = Case(logits, with_it, [], [0.5], mu=12).distribution
    assert engine.survivors != shape(logits, with_it).survivors  # the bound matters
    left = {"tau": 3, "mu": 12}
    view = viewed(page, taken, chosen=5, settings=plain_settings(with_it), mirostat=left)["view"]
    assert view["stages"][-1]["figures"]["mu"] == 12
    assert view["kept"] == engine.survivors


def test_as_many_tokens_are_not_said_to_be_the_same_ones(page):
    """Softmax .64 .24 .09 .03: two reach .2, so XTC removes the first; top-k keeps the second."""
    chain = [Xtc(threshold=0.2, probability=1), TopK(1)]
    sentence = "In the default order (top-k, XTC) another token stays."
    assert chain_view(page, *chain)["default_order"]["sentence"] == sentence
    # A token that was forced has no u to compare draws by.
    undrawn = Case(np.array([4, 3, 2, 1], np.float32), SamplingSettings(chain=chain), [])
    assert viewed(page, undrawn)["view"]["default_order"]["sentence"] == sentence

    chain = [TopK(2), RepetitionPenalty(10)]  # keeps 0 and 1; the other way round 1 and 2
    assert chain_view(page, *chain, text=[0])["default_order"]["sentence"] == (
        "In the default order (repetition penalty, top-k) as many tokens stay, 2, but not the "
        "same, and the same u draws the same token."
    )
    chain = [Temperature(2), LogitBias({3: 2.0})]
    assert chain_view(page, *chain)["default_order"]["sentence"] == (
        "In the default order (logit bias, temperature) the same 4 tokens stay, with other odds, "
        "and the same u draws another token."
    )


def test_the_default_order_is_compared_with_nothing_left(page):
    banned = chain_view(page, Temperature(0), Banned([[0]]))["default_order"]
    assert banned["sentence"] == (
        "In the default order (banned words, temperature) 1 token would stay, where none "
        "is left now."
    )
    everything = Banned([[0], [1], [2], [3]])
    assert chain_view(page, TopK(2), everything)["default_order"]["sentence"] == (
        "In the default order (banned words, top-k) no token would be left either."
    )
    one_left = chain_view(page, TypicalP(0.01), Temperature(0), Banned([[0]]))
    assert one_left["default_order"]["sentence"].startswith(
        "In the default order (banned words, temperature, typical-p) "
    )
    assert " u " not in one_left["default_order"]["sentence"]  # greedy draws nothing


# What each line is called after: the stage that removed what lies next to it.
LINES = [
    ([Xtc(threshold=0.2, probability=1)], (2, 4, None, ["xtc"])),
    ([TopK(3), Xtc(threshold=0.2, probability=1)], (2, 3, "top_k", ["xtc"])),
    (
        [TopK(3), Xtc(threshold=0.2, probability=1), Banned([[1]])],
        (3, 3, "top_k", ["xtc", "banned"]),
    ),
    ([Banned([[3]]), Xtc(threshold=0.2, probability=1)], (2, 3, None, ["xtc"])),
    ([TopP(0.9), TopK(2)], (1, 2, "top_k", [])),
    ([TopK(2), TopP(0.99)], (1, 2, "top_k", [])),
    ([TopK(2), RepetitionPenalty(10), Banned([[0]])], (2, 2, "top_k", ["banned"])),
    ([Temperature(0), Banned([[0]])], (1, 0, "banned", [])),
    ([Banned([[0], [1], [2], [3]])], (1, 0, "banned", [])),
]


@pytest.mark.parametrize(
    ("chain", "line"), LINES, ids=lambda value: "-".join(getattr(one, "name", "") for one in value)
)
def test_a_line_has_the_name_of_the_stage_that_made_it(page, chain, line):
    cut = chain_view(page, *chain)["cut"]
    assert tuple(cut[name] for name in ("first_rank", "after_rank", "stage", "above")) == line


def test_without_a_removal_behind_the_bans_there_is_no_line(page):
    assert chain_view(page, Banned([[1]]), TopK(3))["cut"] is None
    assert chain_view(page, TopK(4), Temperature(2))["cut"] is None
