"""The parts of the page of beam search: tree, charts, sentences, experiments."""

import json
import math
import re
import threading
from dataclasses import replace
from html import unescape
from weakref import WeakKeyDictionary

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.model.passes import counted_passes
from engine.study.metrics import distinct_n
from engine.study.search_error import SearchErrorStudy
from engine.study.set_texts import BEAM, GREEDY, SAMPLE, SAMPLES
from engine.trace.beam import FINISHED, KEPT, PRUNED
from tests.ui.hostile import HOSTILE, language_model, tokenizer
from tests.ui.labs.settling import settled
from ui import jobs
from ui.jobs import UNKNOWN
from ui.labs.beam import view
from ui.labs.beam.charts import likely_figure, tree_figure
from ui.labs.beam.inputs import BeamInputs
from ui.labs.beam.lab import BeamLab, TextsJob
from ui.labs.beam.tree import MOST_ROWS, best_place, ids_of, text_of, tree_of, way_to
from ui.words.metrics import number
from ui.words.token_labels import labels_of

MARKUP = next(text for text in HOSTILE if "<" in text)
PROMPT = "At the end of the day,"


@pytest.fixture(scope="module")
def model(bundled):
    return bundled


@pytest.fixture(scope="module")
def search(model) -> BeamSearch:
    search = BeamSearch(model, PROMPT, BeamSettings(width=4, max_new_tokens=12))
    list(search.run())
    return search


@pytest.fixture(scope="module")
def lab(model) -> BeamLab:
    return settled(BeamLab(model))


# --- The tree -------------------------------------------------------------------------------------


def test_paths_and_best_hypothesis_match_the_search(search):
    steps = search.steps
    for step in steps:
        for at, one in enumerate(step.candidates):
            way = way_to(steps, (step.index, at))
            assert [place[0] for place in way] == list(range(step.index + 1))
            total = sum(steps[place[0]].candidates[place[1]].logprob for place in way)
            assert total == pytest.approx(one.total)
        taken = steps[: step.index + 1]
        assert ids_of(taken, best_place(taken)) == step.ids_after
    assert text_of(steps, best_place(steps)) == search.text
    assert best_place([]) is None


def test_tree_shows_its_columns_and_counts_hidden_nodes(search):
    tree = tree_of(search.steps, 3, 6)
    assert {node.place[0] for node in tree.nodes} == {3, 4, 5, 6} and tree.first == 3
    assert len(tree.before) == 4 and sum(is_best for _, is_best in tree.before) == 1
    assert [node.place[0] for node in tree.nodes if node.is_best] == [3, 4, 5, 6]
    for step in range(3, 7):
        column = [node for node in tree.nodes if node.place[0] == step]
        assert len({node.row for node in column}) == len(column)
        assert {node.fate for node in column} == {KEPT, PRUNED}
    assert tree.hidden == 0 and tree.rows == 8
    assert tree_of(search.steps, 0, 0).before == ()


def test_wide_tree_shows_all_kept_hypotheses(model):
    wide = BeamSearch(model, PROMPT, BeamSettings(width=20, groups=2, max_new_tokens=3))
    list(wide.run())
    tree = tree_of(wide.steps, 0, 2)
    shown = [node.fate for node in tree.nodes]
    every = [one.fate for step in wide.steps for one in step.candidates]
    for fate in (KEPT, FINISHED):
        assert shown.count(fate) == every.count(fate) > 0
    assert tree.hidden == len(every) - len(shown) > 0
    assert view.hidden(tree).startswith(f"{tree.hidden} pruned")
    assert tree.rows <= 20 + MOST_ROWS


def test_chart_distinguishes_fates_by_shape_and_colour(search):
    tree = tree_of(search.steps, 8, 11)
    chosen = tree.nodes[0].place
    figure = tree_figure(tree, labels_of(search.model.vocabulary).__getitem__, chosen, True)
    fates = {trace.name: trace for trace in figure.data if trace.name in (KEPT, PRUNED, FINISHED)}
    looks = {(trace.marker.symbol, trace.marker.color) for trace in fates.values()}
    assert len(looks) == 3
    places = [tuple(place) for trace in fates.values() for place in trace.customdata]
    assert sorted(places) == sorted(node.place for node in tree.nodes)
    assert len(figure.layout.annotations) == len(tree.nodes)
    ring = next(trace for trace in figure.data if trace.name == "chosen")
    assert list(ring.x) == [chosen[0] + 1]
    tree_figure(tree_of(search.steps, 0, 0), str, None)


def test_stage_view_mutes_shared_text_of_hypotheses(search):
    page = view.staged(MARKUP, search)
    best, *others = search.hypotheses[: view.STAGED]
    assert page.count("<li>") == 1 + len(others)
    assert f"<b>{view.number(best.score, 2)}</b>" in page and MARKUP not in page
    muted = re.findall(r"<li>.*?<span>(.*?)</span>", page)
    assert muted[0] == ""
    starts = [best.text[: at + 1] for at, sign in enumerate(best.text) if sign == " "]
    for one, shared in zip(others, map(unescape, muted[1:]), strict=True):
        common = filter(one.text.startswith, starts)
        assert shared == max(common, key=len, default=""), "no word is cut"


# --- Words ----------------------------------------------------------------------------------------


def test_notice_compares_the_search_with_greedy(model, search):
    assert "no beam continues" in view.notice(search)
    greedy = BeamSearch(model, PROMPT, BeamSettings(width=1, max_new_tokens=5))
    list(greedy.run())
    assert view.notice(greedy).startswith("So far the best")
    begun = BeamSearch(model, PROMPT, BeamSettings(width=4))
    for _ in range(3):
        begun.step()
    assert "at token 2" in view.notice(begun)


def test_node_lists_following_tokens_with_fates(search):
    steps = search.steps
    place = next((1, at) for at, one in enumerate(steps[1].candidates) if one.beam == 0)
    found = search.candidates(2, 0, 10)
    shown = view.following_table(steps, place, found, lambda token_id: MARKUP)
    assert MARKUP not in shown and "kept" in shown and "16,374 other tokens" in shown
    assert view.hypothesis(MARKUP, steps, place).count("&lt;") >= 1
    pruned = next((1, at) for at, one in enumerate(steps[1].candidates) if one.fate == PRUNED)
    assert "was pruned" in view.no_more(steps, pruned)
    ended = next((11, at) for at, one in enumerate(steps[11].candidates) if one.fate == FINISHED)
    assert "is complete" in view.no_more(steps, ended)


# --- The lab --------------------------------------------------------------------------------------


def test_chosen_node_and_columns_follow_navigation(lab):
    twin = settled(lab.copy())
    assert len(twin.text.steps) == BeamLab.first_steps and twin.columns == (1, 5)
    step, at = twin.chosen
    assert (step, twin.text.steps[step].candidates[at].beam) == (5, 0), "the best one"
    twin.choose((3, 1))
    twin.show(shown=2, last=3)
    assert twin.chosen == (3, 1) and twin.columns == (2, 3)
    twin.show(last=5)
    assert twin.columns == (4, 5)
    twin.player.step()
    assert twin.columns == (5, 6)  # the newest column keeps moving
    twin.player.rewind(2)
    assert twin.chosen[0] == 1, "what is no longer there is not chosen"
    twin.player.rewind()
    assert twin.chosen is None
    settled(twin)


def test_following_tokens_cost_the_next_step_nothing(lab):
    twin = settled(lab.copy())
    place = twin.chosen
    assert twin.has_following(place)
    found = twin.following(place)
    assert len(found.tokens) == 10 and found is twin.following(place)
    mass = sum(math.exp(one.logprob) for one in found.tokens)
    assert mass + found.rest_mass == pytest.approx(1)
    with counted_passes() as passes:
        twin.text.step()
    assert passes.total == 0


def test_inputs_are_restored_and_exact_ones_keep_text(lab, model):
    twin = settled(lab.copy())
    text = twin.text
    twin.change(exact_tokens=5, exact_by_sum=False)
    assert twin.text is text
    twin.change(width=2)
    settled(twin)
    assert twin.text is not text and len(twin.text.steps) == BeamLab.first_steps
    record = json.loads(json.dumps(twin.record()))
    again = settled(BeamLab.restored(record, lambda source, revision: model))
    assert again.inputs == twin.inputs and again.text.hypotheses == twin.text.hypotheses


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"width": 65}, "width must be"),
        ({"groups": 3}, "groups must divide"),
        ({"prompt": ""}, "prompt"),
    ],
)
def test_refused_change_keeps_the_search(lab, changes, said):
    text, inputs = lab.text, lab.inputs
    lab.change(**changes)
    assert said in lab.error and (lab.text, lab.inputs) == (text, inputs)


# --- Experiments ----------------------------------------------------------------------------------


def test_texts_of_beam_greedy_and_sampling_are_compared(lab, model):
    twin = settled(lab.copy())
    twin.change(max_new_tokens=6)
    twin.begin(UNKNOWN)
    twin.texts.wait(60)
    work = twin.texts
    assert work.is_done and not work.problem and len(work.texts) == work.count
    kinds = [one.kind for one in work.texts]
    assert kinds == [BEAM] * 4 + [GREEDY] + [SAMPLE] * SAMPLES
    best = work.texts[0]
    whole = BeamSearch(model, PROMPT, BeamSettings(max_new_tokens=6))
    list(whole.run())
    assert best.token_ids == whole.hypotheses[0].token_ids
    # In bfloat16, the model rounds differently when it reads a text alone.
    assert best.logprob == pytest.approx(whole.hypotheses[0].logprob, abs=0.2)
    assert best.distinct_1 == distinct_n([best.token_ids], 1)
    assert best.score == pytest.approx(whole.hypotheses[0].score)
    said = view.texts_notice(work.texts)
    assert "greedy’s" in said and "the samples" in said
    shown = view.texts_list(PROMPT, work.texts)
    assert shown.count("<li>") == work.count and shown.index("beam 1") < shown.index("sample")
    figure = likely_figure(work.texts)
    assert [len(trace.x) for trace in figure.data] == [4, 1, SAMPLES]
    assert view.texts_notice(work.texts[:4]) == ""


def test_equal_inputs_share_texts_between_visitors(model):
    inputs = BeamInputs(prompt="Once there was", max_new_tokens=4)
    cancelled, first = TextsJob(model, inputs), TextsJob(model, inputs)
    waits = TextsJob(model, inputs)  # begun before any texts exist
    cancelled.cancel()
    for _ in cancelled._passes():
        pass
    assert not cancelled.is_done and not TextsJob(model, inputs).is_done
    first.start()
    first.wait(60)
    assert first.is_done and len(first.texts) == first.count
    waits.start()
    waits.wait(60)
    again = TextsJob(model, replace(inputs, exact_tokens=5))  # no text depends on this setting
    for other in (waits, again):
        assert other.is_done and other.texts == first.texts and other.texts is not first.texts
    assert [one is two for one, two in zip(waits.texts, first.texts, strict=True)] == [True] * 11
    for other in (replace(inputs, width=2), replace(inputs, prompt="Once there were")):
        assert not TextsJob(model, other).is_done


def test_number_of_kept_text_sets_is_limited(model, monkeypatch):
    monkeypatch.setattr("ui.labs.beam.lab.MOST_WRITTEN", 2)
    monkeypatch.setattr("ui.labs.beam.lab._written", WeakKeyDictionary())
    all_inputs = [BeamInputs(prompt="Once", max_new_tokens=count) for count in (1, 2, 3)]
    for inputs in all_inputs:
        for _ in TextsJob(model, inputs)._passes():
            pass
    assert [TextsJob(model, inputs).is_done for inputs in all_inputs] == [False, True, True]


def test_exact_search_reports_misses_of_each_width(lab):
    twin = settled(lab.copy())
    twin.begin_exact(UNKNOWN)
    twin.exact.wait(60)
    work = twin.exact
    found = work.result
    assert work.is_done and found.best.is_proven and work.texts_done == work.count == 5
    assert [miss.width for miss in found.misses] == [1, 2, 4, 8]
    said = view.verdict(found, work.inputs)
    assert said.startswith("Proven: ")
    own = found.misses[2]
    assert ("misses it by" in said) == (not own.found)
    assert f"{found.best.visited:,} beginnings read" in view.proof(found, "bfloat16")
    assert "round" not in view.proof(found, "float32")
    assert view.misses_table(found).count("<tr>") == 6


def test_unproven_result_is_reported_with_its_interval(model):
    study = SearchErrorStudy(model, PROMPT, 8, widths=(4,), most_nodes=3)
    list(study.run())
    best = study.result.best
    said = view.verdict(study.result, BeamInputs())
    assert said.startswith("Out of reach (3 ")
    assert f"between {number(best.score, 3)} and {number(best.bound, 3)}." in said
    assert best.bound > best.score
    cancelled = SearchErrorStudy(model, PROMPT, 8, widths=(4,))
    cancel = threading.Event()
    for progress in cancelled.run(cancel):
        if progress.exact:
            cancel.set()
    said = view.verdict(cancelled.result, BeamInputs())
    assert said.startswith("Out of reach (cancelled, 1 ")


def test_invalid_exact_search_is_refused(lab):
    twin = settled(lab.copy())
    twin.change(exact_tokens=33)
    twin.begin_exact(UNKNOWN)
    assert "max_new_tokens must be" in twin.error and twin.exact is None
    with pytest.raises(DecodingError):
        BeamInputs(width=0).settings  # noqa: B018


def test_second_tab_does_not_cancel_first_tab_work(lab):
    first = settled(lab.copy())
    first.change(prompt="Once a ship", max_new_tokens=3)
    first.begin(UNKNOWN)
    twin = first.copy()
    assert twin.texts in (None, first.texts) and not first.texts.is_cancelled
    assert first.texts.wait(60) and first.texts.is_done
    assert first.copy().texts is first.texts


@pytest.mark.parametrize(
    ("begin", "work"),
    [pytest.param("begin", "texts", marks=pytest.mark.long), ("begin_exact", "exact")],
)
def test_work_is_kept_only_once_started(lab, monkeypatch, begin, work):
    """Streamlit ends a drawing at the next call to it if a new one is due."""
    twin = settled(lab.copy())
    # Inputs of its own: texts that another job has generated are available at once.
    twin.change(max_new_tokens=7, exact_tokens=4)
    words = iter((False, True))

    def word() -> str:
        if next(words, False):
            raise RerunException(RerunData())
        return "en"

    monkeypatch.setattr(jobs, "language", word)
    with pytest.raises(RerunException):
        getattr(twin, begin)(UNKNOWN)
    assert getattr(twin, work) is None
    getattr(twin, begin)(UNKNOWN)
    assert getattr(twin, work).wait(60)


def test_hostile_vocabulary_is_escaped():
    other = LanguageModel(language_model(context=40), tokenizer(), name="hostile")
    search = BeamSearch(other, "w1|w2", BeamSettings(width=6, max_new_tokens=60))
    list(search.run())
    assert search.stop_reason in ("context", "no_improvement")
    label = labels_of(other.vocabulary).__getitem__
    shown = [view.ranking_table(search), view.staged("", search)]
    for place in ((step.index, at) for step in search.steps for at in range(12)):
        shown.append(view.hypothesis(MARKUP, search.steps, place))
    last = len(search.steps) - 1
    figure = tree_figure(tree_of(search.steps, 0, last), label, None)
    shown += [note.text for note in figure.layout.annotations]
    assert any("&lt;script" in text for text in shown)
    assert not any("<script" in text or "<img" in text for text in shown)
