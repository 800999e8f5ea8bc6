"""The session's chain, the cards that represent it, and the questions that a page may ask."""

import pytest

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Dry, LogitBias, Mirostat, Temperature, TopP, Xtc
from tests.ui import hostile
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.session import Session
from ui.texts.settings import FIRST, breaker_ids

TURNED = SamplingSettings(chain=[Xtc(0.05), TopP(0.8), Temperature(1.3), Mirostat(3.0)], seed=5)
TURNED_CARDS = ("xtc", "dry", "top_p", "temperature", "top_k", "mirostat")


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


@pytest.fixture
def session(visitor) -> Session:
    return visitor.session


def test_chain_runs_in_the_order_of_the_page(visitor, session, bundled):
    visitor.settings = TURNED
    ids = visitor.steps(8)
    alone = Decoder(bundled, PROMPT, TURNED)
    assert ids == [step.token_id for step in alone.run(8)]
    assert [stage.name for stage in session.decoder.steps[7].stages] == [
        stage.setting for stage in TURNED.chain
    ]


def test_session_starts_with_default_and_active_samplers(session, bundled):
    assert session.order == FIRST
    assert "xtc" in Session(bundled, PROMPT, SamplingSettings(xtc=Xtc())).order


def test_sampler_order_is_kept_with_inactive_samplers(visitor, session):
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS)
    visitor.do("step", order=TURNED_CARDS)
    assert session.order == TURNED_CARDS

    visitor.do("force", index=0, token_id=300, order=TURNED_CARDS)
    assert (session.current, session.order) == (2, TURNED_CARDS)
    visitor.do("branch", branch=1, order=TURNED_CARDS)
    assert (session.current, session.order) == (1, TURNED_CARDS)
    assert session.settings == TURNED
    assert session.copy().order == TURNED_CARDS

    visitor.do("start", prompt="Once upon a time", order=TURNED_CARDS[::-1], settings=TURNED)
    assert session.order == TURNED_CARDS[::-1]


def test_sync_does_not_change_the_chain(visitor, session):
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS)
    visitor.do("sync", settings=SamplingSettings(), order=FIRST)
    assert (session.settings, session.order) == (TURNED, TURNED_CARDS)


@pytest.mark.parametrize("kind", ["settings", "start"])
def test_refused_settings_leave_chain_and_order_unchanged(visitor, session, kind):
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS)
    foreign = SamplingSettings(chain=[LogitBias({10**6: 1.0})])
    visitor.do(kind, settings=foreign, order=("logit_bias",), prompt="Once")
    assert "logit_bias names a token outside the vocabulary" in session.error
    assert (session.settings, session.order) == (TURNED, TURNED_CARDS)
    assert len(session.decoder.steps) == 1


@pytest.mark.parametrize("kind", ["settings", "start"])
@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"stop_strings": ("\n", "")}, "stop_strings must be non-empty text"),
        ({"max_tokens": 9, "stop_strings": ("",)}, "stop_strings must be non-empty text"),
        ({"max_tokens": -1, "stop_strings": ("\n",)}, "max_new_tokens must not be negative"),
        ({"max_tokens": 9, "settings": SamplingSettings(top_k=10**6)}, "top_k is above"),
    ],
)
def test_refused_limits_or_settings_change_nothing(visitor, session, kind, limits, sentence):
    held = {"max_tokens": 20, "stop_strings": ("a stop that never comes",)}
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS, **held)
    visitor.do(kind, **{"settings": SamplingSettings(), "order": FIRST, "prompt": "Once", **limits})
    assert sentence in session.error
    assert (session.settings, session.order) == (TURNED, TURNED_CARDS)
    assert {"max_tokens": session.max_tokens, "stop_strings": session.decoder.stop_strings} == held
    assert (session.prompt, len(session.decoder.steps)) == (PROMPT, 1)


def test_start_applies_its_limits(visitor, session):
    visitor.do("start", prompt="Once", max_tokens=9, stop_strings=("\n",))
    assert session.error == ""
    assert (session.max_tokens, session.decoder.stop_strings) == (9, ("\n",))


def test_new_model_keeps_order_and_lists_dropped_settings(visitor, session, bundled):
    chain = [LogitBias({300: 2.0}), Dry(breakers=(5,)), Temperature(0.5), Banned([[7]])]
    order = ("logit_bias", "xtc", "dry", "temperature", "banned", "top_k")
    visitor.do("settings", settings=SamplingSettings(chain=chain, seed=9), order=order)
    other = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
    session.load(other)
    assert session.model is other
    assert session.order == order
    assert session.settings == SamplingSettings(chain=[Dry(), Temperature(0.5)], seed=9)
    assert "Logit bias, Banned words" in session.said
    assert session.error == ""
    visitor.do("step", settings=session.settings, order=session.order)
    assert session.error == ""
    session.load(bundled)
    assert session.settings.stage("dry").breakers == breaker_ids(bundled.vocabulary)
    assert session.error == ""


def test_step_is_refused_when_every_token_is_banned(model):
    session = Session(model, "w1|w2", SamplingSettings())
    visitor = Visitor(session)
    every = [[token_id] for token_id in range(model.vocab_size)]
    visitor.settings = SamplingSettings(banned=every, min_new_tokens=3)
    visitor.do("step")
    assert "min_new_tokens took the last of them" in session.error
    assert session.decoder.steps == []
    visitor.do("inspect", index=0)
    assert session.logits().shape == (model.vocab_size,)
    assert session.error == ""  # the page itself names the sampler that emptied the row
    assert session.distribution() is None


# --- questions ------------------------------------------------------------------------------------


def test_tokenize_returns_tokens_with_rank_and_logit(visitor, session):
    visitor.steps(2)
    visitor.do("inspect", index=1)
    tokens = visitor.ask("tokenize", query=" Paris xylophonist")["tokenized"]
    vocabulary = session.model.vocabulary
    text = "".join(vocabulary.label(token["id"]) for token in tokens)
    assert text == " Paris xylophonist"
    assert len(tokens) > 2
    raw = session.decoder.distribution(1).raw
    for token in tokens:
        assert token["raw_rank"] == raw.rank(token["id"])
        assert token["logit"] == raw.scores[token["id"]]


def test_tokenize_adds_no_special_tokens(bundled, monkeypatch):
    session = Session(bundled, PROMPT, SamplingSettings())
    plain = bundled.vocabulary.tokenizer

    def framed(text, add_special_tokens=True, **kwargs):
        ids = plain(text, add_special_tokens=False, **kwargs)["input_ids"]
        return {"input_ids": [0, *ids, 0] if add_special_tokens else ids}

    monkeypatch.setattr(bundled.vocabulary, "tokenizer", framed)
    tokens = Visitor(session).ask("tokenize", query=" Paris")["tokenized"]
    assert [token["label"] for token in tokens] == ["␣Paris"]


def test_tokenize_handles_empty_and_overlong_text(visitor):
    assert visitor.ask("tokenize", query="") == {"tokenized": [], "error": ""}
    assert "at most 200 characters" in visitor.ask("tokenize", query="x" * 201)["error"]


def test_tokenize_returns_nothing_without_a_tokenizer():
    session = Session(LanguageModel(hostile.language_model(), None), [1, 2], SamplingSettings())
    assert Visitor(session).ask("tokenize", query="w1") == {"tokenized": [], "error": ""}


def test_tokens_have_no_rank_after_the_end(visitor, session):
    visitor.do("force", token_id=next(iter(session.model.eos_ids)), index=0)
    visitor.do("inspect", index=1)
    (token,) = visitor.ask("tokenize", query=" Paris")["tokenized"]
    assert (token["raw_rank"], token["logit"]) == (None, None)


def test_exported_code_has_prompt_model_and_limits(visitor):
    settings = SamplingSettings(chain=[TopP(0.75), Temperature(0.5)], seed=11)
    found = visitor.ask("snippets", settings=settings, max_tokens=37, stop_strings=("END OF IT",))
    by_target = {snippet["target"]: snippet for snippet in found["snippets"]}
    code = by_target["transformers"]["code"]
    for part in (PROMPT, "models/target", "top_p=0.75", "max_new_tokens=37", "END OF IT"):
        assert part in code
    compile(code, "snippet", "exec")
    assert any(setting == "top_p" for setting, _ in by_target["transformers"]["differs"])


def test_export_is_refused_for_zero_max_tokens(visitor, session):
    assert "max_tokens must be at least 1" in visitor.ask("snippets", max_tokens=0)["error"]
    assert session.error == ""
