"""A decoder's state for stages: XTC's numbers, Mirostat's bound, parity."""

import functools
import json
import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Mirostat, Xtc
from engine.trace import Step, Trace
from tests.engine import tiny_models
from tests.engine.runs import arguments_of_generate, finished, generate, rows

TOKENS = 24
PROMPT = tiny_models.prompt(0)
SEED = 11


def adaptive(**changes: object) -> SamplingSettings:
    """Settings with XTC and Mirostat both on and both effective."""
    settings = {"xtc": Xtc(0.02, 0.5), "mirostat": Mirostat(3.0, 0.3), "seed": SEED}
    return SamplingSettings(**settings | changes)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel(tiny_models.build("llama", num_hidden_layers=3))  # as for `GOLDEN`


@pytest.fixture(scope="module")
def lone(model) -> Decoder:
    """An undisturbed run, the reference for the others."""
    return finished(Decoder(model, PROMPT, adaptive()), TOKENS)


def bound(decoder: Decoder, index: int) -> float:
    """Mirostat's bound in a past or the next step."""
    return decoder.settings.stage("mirostat").state(decoder.context(index)).mu


# --- The streams and the state --------------------------------------------------------------------

# Token, uniform number, XTC's number, Mirostat's bound, as before stages had states.
GOLDEN = (
    (49, 0.12857020276919962, 0.20239074186485384, 6.0),
    (45, 0.49927786244011496, 0.9221975633951501, 6.0865491052743685),
    (75, 0.6014983576233575, 0.9211200268174166, 6.2213043249907365),
    (21, 0.028689008371944547, 0.6193605429160878, 5.855893027096768),
    (28, 0.14792608457745593, 0.7663463712209311, 6.375490490472284),
    (16, 0.9282110229603695, 0.9682406696944379, 6.522552867060804),
    (88, 0.07042057615419683, 0.3593440913605688, 5.6262685825854355),
    (28, 0.12977394939929798, 0.9887709899152389, 5.612381607821393),
)


def test_the_numbers_of_a_seed_never_change(lone):
    for step, (token_id, u, xtc_u, mu) in zip(lone.steps, GOLDEN, strict=False):
        assert (step.token_id, step.u, step.xtc_uniform) == (token_id, u, xtc_u)
        assert step.mirostat_mu == pytest.approx(mu, abs=1e-4), "beyond the CPU's rounding"


def test_xtc_uses_its_own_random_stream(lone):
    stream = np.random.Generator(np.random.PCG64([SEED, 1])).random(TOKENS)
    assert [step.xtc_uniform for step in lone.steps] == stream.tolist()
    assert [step.u for step in lone.steps] == [lone.uniform(i) for i in range(TOKENS)]
    acted = [step.xtc_uniform < 0.5 and step.stages[0].mass_removed > 0 for step in lone.steps]
    assert any(acted) and not all(acted), "XTC always or never acted, which proves little"


def test_mirostats_bound_follows_the_recorded_steps(model, lone):
    mu = 6.0  # 2 tau
    for step in lone.steps:
        assert step.mirostat_mu == pytest.approx(mu)
        before = lone.distribution(step.index).stages[-1].before
        surprise = -math.log2(before.probs[step.token_id])
        assert surprise <= mu or step.survivors == 1
        mu -= 0.3 * (surprise - 3.0)
    assert len({step.mirostat_mu for step in lone.steps}) == TOKENS
    assert bound(lone, TOKENS) == pytest.approx(mu)


def test_forced_token_also_moves_mirostats_bound(model):
    decoder = Decoder(model, PROMPT, adaptive(xtc=None))
    unlikely = int(np.argmin(decoder.next_distribution().logits))
    step = decoder.step(unlikely)
    bits = -step.logprob / math.log(2)
    assert step.forced and step.probability == 0
    mu = bound(decoder, 1)
    assert mu == pytest.approx(6.0 - 0.3 * (bits - 3.0))
    decoder.settings = adaptive(xtc=None, banned=[[5]])
    decoder.step(5)
    assert bound(decoder, 2) == mu, "a banned token has no surprise"


def test_steps_keep_their_state_under_new_settings(model, lone):
    decoder = finished(Decoder(model, PROMPT, adaptive()), 6)
    decoder.settings = adaptive(seed=99, mirostat=Mirostat(4.0, 0.1))
    finished(decoder, 12)
    assert [s.mirostat_mu for s in decoder.steps[:6]] == [s.mirostat_mu for s in lone.steps[:6]]
    assert decoder.steps[6].mirostat_mu == 8.0, "another tau begins anew"
    assert decoder.steps[7].mirostat_mu != 8.0
    other = np.random.Generator(np.random.PCG64([99, 1])).random(12).tolist()
    assert [s.xtc_uniform for s in decoder.steps[6:]] == other[6:]
    for step in decoder.steps:
        shown = decoder.distribution(step.index)
        assert shown.probability(step.token_id) == pytest.approx(step.probability, rel=1e-12)
        taken = decoder.settings_at(step.index).stage("mirostat")
        context = decoder.context(step.index)
        assert taken.state(context).mu == step.mirostat_mu
        assert context.uniform(Xtc.stream) == step.xtc_uniform
    # Settings tried on an old step see the state of that step.
    tried = decoder.distribution(3, adaptive(seed=99)).stages
    assert [stage.name for stage in tried] == ["xtc", "mirostat"]
    assert tried[0].figures["u"] == lone.steps[3].xtc_uniform
    assert tried[1].figures["mu"] == lone.steps[3].mirostat_mu
    decoder.settings = adaptive(seed=99, mirostat=Mirostat(4.0, 0.5))
    goes_on = decoder.distribution(11).states_after(decoder.steps[11].token_id)
    step = decoder.step()
    assert step.mirostat_mu == goes_on["mirostat"].mu, "another eta goes on from where mu is"
    decoder.rewind(12)
    for wrong in (-1, 13, True):
        with pytest.raises(SettingError, match="neither a step taken nor the next one"):
            decoder.context(wrong)


# --- Traces ---------------------------------------------------------------------------------------


def test_old_trace_without_stage_states_still_loads(lone):
    data = json.loads(lone.trace().to_json())
    for step in data["steps"]:
        del step["stage_states"]
    trace = Trace.from_json(json.dumps(data))
    assert [(s.xtc_uniform, s.mirostat_mu) for s in trace.steps] == [(None, None)] * TOKENS
    assert isinstance(trace.steps[0], Step) and trace.token_ids == lone.token_ids


# --- Parity ---------------------------------------------------------------------------------------

IN_PARITY = {
    "logit_bias": {3: 4.0, 17: -6.0, 40: 2.5},
    "repetition_penalty": 1.3,
    "no_repeat_ngram": 1,
    "banned": [[7, 9], [1, 2, 3], *([i] for i in range(0, tiny_models.VOCAB, 2))],
    "min_new_tokens": 12,
    "temperature": 0.7,
    "top_h": 0.6,
    "top_k": 7,
    "top_p": 0.8,
    "min_p": 0.05,
    "typical_p": 0.6,
    "epsilon_cutoff": 0.02,
    "eta_cutoff": 0.05,
}


@functools.cache
def parity_alone(seed: int) -> tuple[LanguageModel, list[int]]:
    """A model, and its draws in parity mode without any stage."""
    model = LanguageModel(tiny_models.build("llama", seed=seed))
    model.eos_ids = ()
    settings = SamplingSettings(seed=seed, parity=True)
    return model, finished(Decoder(model, PROMPT, settings), TOKENS).token_ids


LONG = [(name,) for name in IN_PARITY if name not in ("min_new_tokens", "temperature")]


@pytest.mark.parametrize(
    ("names", "seed"),
    [
        (("min_new_tokens",), 0),
        (("temperature",), 0),
        (tuple(IN_PARITY), 0),
        pytest.param(tuple(IN_PARITY), 1, marks=pytest.mark.long),
        *(pytest.param(names, 0, marks=pytest.mark.long) for names in LONG),
    ],
)
def test_parity_repeats_generate_with_every_shared_stage(names, seed, monkeypatch):
    model, plain = parity_alone(seed)
    chosen = {name: IN_PARITY[name] for name in names}
    settings = SamplingSettings(**chosen, seed=seed, parity=True)
    ends = list(range(0, tiny_models.VOCAB, 3)) if "min_new_tokens" in names else None
    for name in ("eos_ids", "generate_eos_ids"):
        monkeypatch.setattr(model, name, tuple(ends or ()))
    decoder = Decoder(model, PROMPT, settings)
    for _ in decoder.run(TOKENS):
        pass
    arguments = {"top_k": None} | arguments_of_generate(settings)
    ids, logits = generate(
        model, PROMPT, TOKENS, seed, eos_token_id=ends, pad_token_id=0, **arguments
    )
    assert decoder.token_ids == ids, f"with {names} parity drew other tokens than generate"
    np.testing.assert_allclose(rows(decoder), logits, atol=1e-4, rtol=0)
    assert plain[: len(ids)] != ids, f"{names} changed nothing in this run, which proves little"
