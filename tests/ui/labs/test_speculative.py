"""The lab of speculative decoding without a page: proposers, words, charts, the speed trial."""

import json

import pytest

from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.study.acceptance import Acceptance
from engine.study.speedup import LOSSES, SpeedTrial
from tests.engine import tiny_models
from tests.ui.hostile import HOSTILE
from tests.ui.labs.settling import settled
from ui.jobs import UNKNOWN
from ui.labs.speculative import charts, view
from ui.labs.speculative.lab import ITSELF, LOOKUP, SpeculativeLab, SpeedJob

MARKUP = next(text for text in HOSTILE if "<" in text)


@pytest.fixture(scope="module")
def model(bundled) -> LanguageModel:
    return bundled


@pytest.fixture(scope="module")
def opened(model) -> SpeculativeLab:
    """The lab as the page opens it; tests change a copy, like a second tab's."""
    return settled(SpeculativeLab(model))


@pytest.fixture
def lab(opened) -> SpeculativeLab:
    return opened.copy()


def rounds_of(**changes) -> SpeculativeDecoder:
    """Run a few rounds of tiny models, with at least one of each verdict."""
    settings = SpeculativeSettings(SamplingSettings(seed=4), draft_length=3).replace(**changes)
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    text = SpeculativeDecoder(target, tiny_models.prompt(2), draft, settings)
    list(text.run(6))
    return text


# --- the lab --------------------------------------------------------------------------------------


def test_lab_opens_with_rounds_and_a_rejection(opened):
    assert len(opened.text.steps) == 4 and not opened.error and not opened.fell_back
    lab = opened.copy()
    index, position = lab.looked_at
    assert lab.text.steps[index].proposed[position].verdict == "rejected"
    lab.chosen = (0, 1)
    assert lab.looked_at == (0, 1)
    lab.player.rewind()
    assert lab.looked_at is None


def test_each_proposer_can_be_selected(lab, model):
    lab.change(proposer=ITSELF)
    assert settled(lab).text.draft is model
    lab.change(proposer=LOOKUP, prompt="one two three one two three one two")
    assert settled(lab).text.draft is None
    assert lab.text.steps[0].proposed, "the prompt repeats, so there is a match"


def test_max_tokens_apply_and_a_record_restores_the_rounds(lab, model):
    lab.change(forced=True, acceptance=0.5)
    text, count = settled(lab).text, len(lab.text.token_ids)
    lab.change(max_tokens=count + 2)
    assert lab.text is text
    lab.player.play()
    settled(lab)
    assert len(lab.text.token_ids) == count + 2 and not lab.player.can_go_on
    data = json.loads(json.dumps(lab.record()))
    again = settled(SpeculativeLab.restored(data, lambda source, revision: model))
    assert again.inputs == lab.inputs and again.text.token_ids == lab.text.token_ids
    twin = lab.copy()
    assert twin.text.token_ids == lab.text.token_ids and twin.work is None


def test_unsuitable_draft_falls_back_to_prompt_lookup():
    target = LanguageModel(tiny_models.build("llama"), name="mine")
    target.vocabulary.encode = lambda text: tiny_models.prompt(2)
    other = SpeculativeLab(target, steps=2)
    assert "a different tokenizer from mine" in other.fell_back
    assert settled(other).text.draft is None and len(other.text.steps) == 2


def test_another_draft_is_loaded_in_the_background(lab):
    lab.load_draft("models/draft")
    assert settled(lab).inputs.proposer == "models/draft" and not lab.error
    assert lab.text.draft.source == "models/draft"
    for typed, said in (("nowhere/at/all", "There is no folder"), (" ", "has no name")):
        lab.load_draft(typed)
        assert said in settled(lab).error
        assert lab.inputs.proposer == "models/draft"


def test_draft_can_be_loaded_without_a_text(lab, model):
    """Restore a record whose draft no longer exists, as after a restart."""
    data = lab.record()
    data["inputs"]["proposer"] = "nowhere/at/all"
    lab = SpeculativeLab.restored(data, lambda source, revision: model)
    assert lab.text is None and "There is no folder" in lab.error
    lab.load_draft("not/a/folder")
    assert "There is no folder 'not/a/folder'" in settled(lab).error and lab.text is None
    lab.load_draft("models/draft")
    assert settled(lab).text.draft.source == "models/draft" and not lab.error


def test_a_record_downloads_no_draft(lab, model, monkeypatch):
    asked = []
    monkeypatch.setattr("engine.model.loading.checkpoint.HfApi", lambda: asked.append("the hub"))
    data = lab.record()
    data["inputs"]["proposer"] = "someone/draft"
    restored = SpeculativeLab.restored(data, lambda source, revision: model)
    assert restored.text is None and "someone/draft" in restored.error and not asked


def test_visitor_loads_only_allowed_drafts(lab, monkeypatch):
    monkeypatch.setenv("DECODING_MODELS", "bundled")
    lab.load_draft("models/draft")
    assert "not among the models" in lab.error and not lab.player.is_busy


def test_speed_trial_resumes_after_a_cancel(monkeypatch):
    monkeypatch.setattr("ui.labs.speculative.lab.TOKENS", 3)
    settings = SpeculativeSettings(SamplingSettings(seed=1))
    work = SpeedJob(tiny_models.shared("llama"), tiny_models.prompt(2), None, settings)
    work.start(UNKNOWN)
    work.cancel()
    work.wait(60)
    ended = work.texts_done
    work.start(UNKNOWN)
    work.wait(60)
    assert ended <= work.texts_done == work.count == 28 and work.is_done
    assert [point.length for point in work.curve.points] == list(range(1, 9))


def test_refused_speed_trial_shows_an_error(lab, monkeypatch):
    def refused(*args, **kwargs):
        raise DecodingError("It cannot be measured.")

    monkeypatch.setattr("ui.labs.speculative.lab.SpeedJob", refused)
    lab.begin(UNKNOWN)
    assert lab.error == "It cannot be measured." and lab.work is None


# --- words and charts -----------------------------------------------------------------------------


def test_each_verdict_has_sign_word_and_class():
    text = rounds_of()
    page = view.rounds(text.steps, (0, 0))
    kinds = {token.verdict for step in text.steps for token in step.proposed}
    kinds |= {step.drawn.kind for step in text.steps}
    assert {"accepted", "rejected", "not looked at", "resampled"} <= kinds
    for kind in kinds:
        assert f"{view.SIGNS[kind]} {kind}" in page and f"spec-{kind.replace(' ', '-')}" in page
    assert page.count("spec-chosen") == 1
    assert page.index("Round 6") < page.index("Round 1<"), "the latest stands first"
    staged = view.staged(text, "")
    assert "Round 6" in staged and "Round 4" in staged and "Round 3" not in staged
    assert page.count('class="spec-bar"') == sum(step.looked_at for step in text.steps)


def test_texts_are_escaped(monkeypatch):
    text = rounds_of()
    assert MARKUP not in view.written(text, MARKUP) + view.staged(text, MARKUP)
    token = text.steps[0].proposed[0]
    odd = type(token)(token.token_id, MARKUP.encode(), *(getattr(token, n) for n in REST))
    step = text.steps[0]
    monkeypatch.setattr(type(step), "looked_at", 0)
    assert "<img" not in view._proposed(odd, step, False)


REST = ("draft_u", "draft_probability", "target_probability", "ratio", "u", "verdict")


def test_notice_summarises_the_rounds():
    text = rounds_of()
    found = Acceptance.of(text.steps)
    said = view.notice(text)
    assert f"accepted {sum(found.accepted)} of the {sum(found.looked_at)} proposals" in said
    assert "rejected " in said
    forced = rounds_of(forced_acceptance=1.0)
    assert "forced to 1.00" in view.notice(forced) and view.INVALID in view.notice(forced)
    assert view.INVALID in view.written(forced, "x") and view.INVALID not in view.written(text, "x")
    silent = SpeculativeDecoder(tiny_models.shared("llama"), [5], None, SpeculativeSettings())
    silent.step()
    assert view.notice(silent).startswith("Nothing has been proposed yet")


def test_overlap_shows_shared_probability_or_forced_acceptance():
    text = rounds_of()
    step = next(s for s in text.steps if s.looked_at > s.accepted)
    found = text.distribution(step.index, step.accepted)
    bars = view.bars(found, step, text)
    assert any("(proposed)" in bar.label for bar in bars)
    assert any("(drawn)" in bar.label for bar in bars)
    figure = charts.overlap_figure(bars, True)
    shared, more, less = (part.x for part in figure.data)
    for bar, both, target, draft in zip(bars, shared, more, less, strict=True):
        assert both + target == pytest.approx(bar.target)
        assert both + draft == pytest.approx(bar.draft)
    said = view.overlap_sentence(found, step)
    assert f"share {found.overlap.shared:.3f}" in said and said.endswith("it is rejected.")
    behind = next(s for s in text.steps if s.looked_at < len(s.proposed))
    unseen = text.distribution(behind.index, len(behind.proposed) - 1)
    assert "it was never examined" in view.overlap_sentence(unseen, behind)
    forced = rounds_of(forced_acceptance=0.5)
    step = next(s for s in forced.steps if s.looked_at > s.accepted)
    found = forced.distribution(step.index, step.accepted)
    assert "the forced acceptance, 0.500" in view.overlap_sentence(found, step)
    assert "in the residual" not in view.rounds(forced.steps, None)
    assert "in the residual" in view.rounds(text.steps, None)


def test_speed_trial_is_shown_in_words_and_charts():
    trial = SpeedTrial(
        tiny_models.shared("llama"),
        tiny_models.prompt(2),
        tiny_models.shared("llama", 1),
        SpeculativeSettings(forced_acceptance=0.9),
        lengths=(1, 2),
        tokens=5,
        turns=1,
    )
    list(trial)
    curve = trial.result()
    point = curve.at(2)
    said = view.speed_sentence(curve, point)
    assert said.startswith(view.INVALID)
    assert ("faster here" if point.measured >= 1 else "slower here") in said
    assert view.LOSS_SENTENCES[point.waterfall.largest.name] in said
    assert set(view.LOSS_NAMES) == set(view.LOSS_SENTENCES) == set(LOSSES)
    assert view.speed_table(curve).count("<tr>") == 3
    fall = charts.waterfall_figure(point, view.LOSS_NAMES, True)
    assert fall.data[0].x[0] == point.waterfall.tokens
    assert fall.data[-1].x[0] == point.measured
    measured, formula = charts.curve_figure(curve, True).data
    assert list(measured.y) == [one.measured for one in curve.points]
    assert list(formula.y) == [one.predicted for one in curve.points]
    bars = charts.acceptance_figure(point.acceptance, True).data
    assert list(bars[0].y) == list(point.acceptance.conditional)
