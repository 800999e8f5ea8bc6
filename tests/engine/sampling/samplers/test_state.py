"""A decoder's state for stages: XTC's numbers, Mirostat's bound, refused steps, parity."""

import functools
import json
import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import NoCandidatesError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import (
    Banned,
    Dry,
    DynamicTemperature,
    LogitBias,
    Mirostat,
    PLess,
    TopK,
    Xtc,
)
from engine.trace import Step, Trace
from tests.engine import tiny_models
from tests.engine.runs import arguments_of_generate, assert_same_run, finished, generate, rows

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


def state(decoder: Decoder) -> list[tuple]:
    return [(s.token_id, s.u, s.xtc_uniform, s.mirostat_mu, s.probability) for s in decoder.steps]


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


def test_xtc_uses_its_own_random_stream(model, lone):
    stream = np.random.Generator(np.random.PCG64([SEED, 1])).random(TOKENS)
    assert [step.xtc_uniform for step in lone.steps] == stream.tolist()
    assert [step.u for step in lone.steps] == [lone.uniform(i) for i in range(TOKENS)]
    acted = [step.xtc_uniform < 0.5 and step.stages[0].mass_removed > 0 for step in lone.steps]
    assert any(acted) and not all(acted), "XTC always or never acted, which proves little"
    without = finished(Decoder(model, PROMPT, adaptive(xtc=None)), 3)
    assert [step.xtc_uniform for step in without.steps] == [None] * 3


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


def test_mirostat_holds_the_surprise_near_tau(model):
    decoder = Decoder(model, PROMPT, SamplingSettings(mirostat=Mirostat(2.5, 0.2), seed=SEED))
    finished(decoder, 60)
    bits = [
        -math.log2(decoder.distribution(i).stages[0].before.probs[s.token_id])
        for i, s in enumerate(decoder.steps)
    ]
    last = bound(decoder, 60)
    # mu_n = 2 tau - eta * sum(surprise - tau), so a bounded mu bounds the mean error.
    assert np.mean(bits) - 2.5 == pytest.approx((5.0 - last) / (0.2 * 60), abs=1e-9)


def test_rewinding_and_rerunning_repeats_the_state(lone, model):
    decoder = finished(Decoder(model, PROMPT, adaptive()), 15)
    for length in (9, 3, 0):
        decoder.rewind(length)
        finished(decoder, 15)
        assert state(decoder) == state(lone)[:15]
    decoder.rewind(7)
    decoder.next_distribution()
    decoder.next_distribution(adaptive(seed=3, mirostat=Mirostat(1.0, 0.5)))
    assert state(finished(decoder, TOKENS)) == state(lone), "looking changed what came"


def test_fork_copies_the_state_and_stays_independent(lone, model):
    decoder = finished(Decoder(model, PROMPT, adaptive()), 8)
    twin = decoder.fork()
    decoder.step(3)
    finished(decoder, TOKENS)
    assert state(finished(twin, TOKENS)) == state(lone)
    assert state(decoder)[8:] != state(lone)[8:]


def test_forced_token_also_moves_mirostats_bound(model):
    decoder = Decoder(model, PROMPT, adaptive(xtc=None))
    unlikely = int(np.argmin(decoder.next_distribution().logits))
    step = decoder.step(unlikely)
    bits = -step.logprob / math.log(2)
    assert step.forced and step.probability == 0
    assert bound(decoder, 1) == pytest.approx(6.0 - 0.3 * (bits - 3.0))


def test_banned_forced_token_leaves_mirostats_bound_unchanged(model):
    decoder = Decoder(model, PROMPT, adaptive(xtc=None, banned=[[5]]))
    decoder.step(5)
    assert bound(decoder, 1) == 6.0


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
        with pytest.raises(SettingError, match="neither taken nor next"):
            decoder.context(wrong)


def test_step_without_candidates_is_refused_safely(model):
    decoder = finished(Decoder(model, PROMPT, adaptive()), 5)
    ids = decoder.token_ids
    decoder.settings = adaptive(banned=Banned(range(tiny_models.VOCAB)))
    for _ in range(2):
        with pytest.raises(NoCandidatesError, match="banned took the last of them"):
            decoder.step()
        with pytest.raises(NoCandidatesError):
            decoder.next_distribution()
    assert decoder.token_ids == ids
    decoder.settings = adaptive()
    lone = finished(Decoder(model, PROMPT, adaptive()), 12)
    assert state(finished(decoder, 12)) == state(lone)


def test_end_of_text_waits_for_min_new_tokens(model):
    model = LanguageModel(model.hf)
    model.eos_ids = tuple(range(0, tiny_models.VOCAB, 2))
    decoder = Decoder(model, PROMPT, SamplingSettings(min_new_tokens=6, seed=1))
    ids = [step.token_id for step in decoder.run(60)]
    assert all(i % 2 for i in ids[:6]) and decoder.stop_reason == "eos" and len(ids) < 60
    assert decoder.distribution(0, SamplingSettings(banned=[[0]])).survivors == tiny_models.VOCAB


# --- Traces ---------------------------------------------------------------------------------------


def test_a_trace_keeps_stages_and_state(lone, tmp_path):
    trace = lone.trace()
    path = trace.save(tmp_path / "run.json")
    loaded = Trace.load(path)
    assert loaded == trace
    assert [s.mirostat_mu for s in loaded.steps] == [s.mirostat_mu for s in lone.steps]
    assert SamplingSettings.from_dict(loaded.settings[0][1]) == adaptive()


def test_old_trace_without_stage_states_still_loads(lone):
    data = json.loads(lone.trace().to_json())
    for step in data["steps"]:
        del step["stage_states"]
    trace = Trace.from_json(json.dumps(data))
    assert [(s.xtc_uniform, s.mirostat_mu) for s in trace.steps] == [(None, None)] * TOKENS
    assert isinstance(trace.steps[0], Step) and trace.token_ids == lone.token_ids


def test_frame_has_a_column_per_remembered_number(lone):
    frame = lone.trace().to_frame()
    assert frame["mirostat_mu"].tolist() == [step.mirostat_mu for step in lone.steps]
    assert frame["xtc_uniform"].tolist() == [step.xtc_uniform for step in lone.steps]


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


@pytest.mark.parametrize(
    "names", [*((name,) for name in IN_PARITY), tuple(IN_PARITY)], ids="+".join
)
@pytest.mark.parametrize("seed", [0, 1])
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


@pytest.mark.parametrize(
    "setting",
    [
        {"presence_penalty": 0.5},
        {"frequency_penalty": 0.5},
        {"dry": Dry()},
        {"dynamic_temperature": DynamicTemperature()},
        {"p_less": PLess()},
        {"top_n_sigma": 1.0},
        {"tail_free": 0.9},
        {"xtc": Xtc()},
        {"mirostat": Mirostat()},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_parity_refuses_stages_that_transformers_lacks(setting):
    (name,) = setting
    with pytest.raises(SettingError, match=f"^{name} has no counterpart in transformers"):
        SamplingSettings(**setting, parity=True)


def test_stateless_stages_are_unaffected_by_a_detour(model):
    settings = SamplingSettings(logit_bias=LogitBias({1: 2}), dry=Dry(), typical_p=0.8, seed=4)
    straight = finished(Decoder(model, PROMPT, settings), 14)
    decoder = finished(Decoder(model, PROMPT, settings), 9)
    decoder.rewind(2)
    decoder.settings = settings.replace(chain=[TopK(1)])
    decoder.next_distribution()
    decoder.settings = settings
    finished(decoder, 14)
    assert_same_run(decoder, straight.token_ids, rows(straight), "After a detour")
