"""The session's chain, and the cards that represent it."""

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


def test_chain_runs_in_the_order_of_the_page(visitor, session, bundled):
    visitor.settings = TURNED
    ids = visitor.steps(8)
    alone = Decoder(bundled, PROMPT, TURNED)
    assert ids == [step.token_id for step in alone.run(8)]
    assert [stage.name for stage in session.decoder.steps[7].stages] == [
        stage.setting for stage in TURNED.chain
    ]


def test_sampler_order_is_kept_with_inactive_samplers(visitor, session, bundled):
    assert session.order == FIRST
    assert "xtc" in Session(bundled, PROMPT, SamplingSettings(xtc=Xtc())).order
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS)
    assert session.order == TURNED_CARDS
    visitor.do("sync", settings=SamplingSettings(), order=FIRST)
    assert (session.settings, session.order) == (TURNED, TURNED_CARDS)

    visitor.do("force", index=0, token_id=300, order=TURNED_CARDS)
    assert (session.current, session.order) == (2, TURNED_CARDS)
    visitor.do("branch", branch=1, order=TURNED_CARDS)
    assert (session.current, session.order) == (1, TURNED_CARDS)
    assert session.settings == TURNED
    assert session.copy().order == TURNED_CARDS

    visitor.do("start", prompt="Once upon a time", order=TURNED_CARDS[::-1], settings=TURNED)
    assert session.order == TURNED_CARDS[::-1]


FOREIGN = SamplingSettings(chain=[LogitBias({10**6: 1.0})])


@pytest.mark.parametrize("kind", ["settings", "start"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stop_strings": ("\n", "")}, "stop_strings must be non-empty text"),
        ({"max_tokens": -1, "stop_strings": ("\n",)}, "max_new_tokens must not be negative"),
        (
            {"max_tokens": 9, "settings": SamplingSettings(top_k=10**6)},
            "top_k exceeds the vocabulary",
        ),
        ({"settings": FOREIGN, "order": ("logit_bias",)}, "logit_bias names a token outside"),
    ],
)
def test_refused_limits_or_settings_change_nothing(visitor, session, kind, changes, said):
    held = {"max_tokens": 20, "stop_strings": ("a stop that never comes",)}
    visitor.settings = TURNED
    visitor.do("step", order=TURNED_CARDS, **held)
    fields = {"settings": SamplingSettings(), "order": FIRST, "prompt": "Once", **changes}
    visitor.do(kind, **fields)
    assert said in session.error
    assert (session.settings, session.order) == (TURNED, TURNED_CARDS)
    assert {"max_tokens": session.max_tokens, "stop_strings": session.decoder.stop_strings} == held
    assert (session.prompt, len(session.decoder.steps)) == (PROMPT, 1)


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
    assert "min_new_tokens removed the last of them" in session.error
    assert session.decoder.steps == []
    visitor.do("inspect", index=0)
    assert session.logits().shape == (model.vocab_size,)
    assert session.error == ""  # the page itself names the sampler that emptied the row
    assert session.distribution() is None
