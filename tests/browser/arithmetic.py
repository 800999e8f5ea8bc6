"""Random rows and chains, what the browser makes of them, and in what that is not the engine's.

Rows go to Chromium as `pack_row` packs them, and Chromium runs the component's own modules.
"""

import base64
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.distribution import Distribution
from engine.errors import NoCandidatesError
from engine.ranking import RankedRow
from engine.sampling import DEFAULT_ORDER, STAGES, Context, SamplingSettings, Stage, shape
from ui.components.rows import HEAD, SMALL_VOCABULARY, pack_row

TINY, FEW, SMALL, LARGE = 4, 50, 16_384, 151_936
PROBS = 400  # leading survivors whose probability is compared

MEASURE = """(batch) => {
  const { unpack_row, shape, Context } = window.modules;
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
    start,
    last: stop > start ? ranking.value_at(stop) : null,
    ids: base64(Uint32Array.from(ranking.ids.subarray(start, Math.max(start, stop)))),
  });
  return batch.map(({ header, data, cases }) => {
    const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
    const row = unpack_row(header, bytes.buffer, 0);
    return cases.map(({ chain, token_ids, us, ...options }) => {
      const shaped = shape(row, chain, { context: new Context(token_ids, options) });
      const { ranking, mass, start, count, stop } = shaped.final;
      const ranks = Array.from({ length: Math.min(count, PROBS) }, (_, place) => start + 1 + place);
      return {
        emptied_by: shaped.emptied_by?.name ?? null,
        unknown: shaped.unknown,
        raw_entropy: shaped.raw.entropy_bits,
        tempered_entropy: shaped.tempered_entropy,
        start: survivors_of(shaped.before_cuts),
        stages: shaped.stages.map(stage => ({
          ...survivors_of(stage.after),
          mass_removed: stage.mass_removed,
          entropy: stage.entropy_bits,
        })),
        probs: count ? [...ranks, stop].map(rank => ranking.weight_at(rank) / mass) : [],
        draws: count ? us.map(u => shaped.draw(u)) : [],
      };
    });
  });
}""".replace("PROBS", str(PROBS))


@dataclass
class Case:
    """A row, what is done to it, and the numbers it is drawn with.

    `context` are the tokens so far, the first `prompt_length` of them the prompt.
    """

    logits: np.ndarray
    settings: SamplingSettings
    context: list[int]
    us: list[float] = field(default_factory=list)
    prompt_length: int = 0
    eos_ids: tuple[int, ...] = ()
    xtc_u: float = 0.0
    mu: float | None = None  # Mirostat's, steered towards its present tau

    @cached_property
    def distribution(self) -> Distribution:
        context = Context(
            np.array(self.context, np.int64),
            prompt_length=self.prompt_length,
            eos_ids=self.eos_ids,
            xtc_uniform=self.xtc_u,
            mirostat_mu=self.mu,
        )
        return shape(self.logits, self.settings, context)

    def raw_rank(self, token: int) -> int:
        """Rank of a token by its raw logit, from 1."""
        return RankedRow(self.logits).rank(token)

    @property
    def chain(self) -> list[dict]:
        return [{"name": stage.setting, "value": plain(stage)} for stage in self.settings.chain]

    @property
    def plain_context(self) -> dict:
        """The context as the browser has it, and the numbers to draw with."""
        mirostat = self.settings.mirostat
        state = None if self.mu is None or mirostat is None else (mirostat.tau, self.mu)
        return {
            "token_ids": self.context,
            "prompt_length": self.prompt_length,
            "eos_ids": list(self.eos_ids),
            "xtc_u": self.xtc_u,
            "mirostat": state and dict(zip(("tau", "mu"), state, strict=True)),
            "us": self.us,
        }


def plain(stage: Stage) -> object:
    """A stage's value as the page has it: a number, or an object of its fields."""
    return stage.to_dict() if stage.value is stage or not is_number(stage.value) else stage.value


def is_number(value: object) -> bool:
    return isinstance(value, (int, float))


# --- random rows, texts and settings ------------------------------------------------------------


def bfloat16(logits: np.ndarray) -> np.ndarray:
    return (logits.view(np.uint32) & 0xFFFF_0000).view(np.float32)


def random_row(rng: np.random.Generator, vocab: int, kind: str) -> np.ndarray:
    if kind == "zipf":
        ranks = rng.permutation(vocab) + 1
        logits = 20 - rng.uniform(0.8, 2) * np.log(ranks) + rng.normal(0, 0.3, vocab)
    elif kind == "extreme":  # one token has it all, or scores that no model gives
        logits = rng.normal(0, 10 ** rng.uniform(-4, 4), vocab)
        logits[rng.integers(vocab)] += 10 ** rng.uniform(0, 4)
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


KINDS = ("normal", "zipf", "bfloat16", "levels", "banned", "extreme")


def random_text(rng: np.random.Generator, logits: np.ndarray) -> list[int]:
    """A text that repeats itself, with likely tokens, unlikely ones and one the model lacks."""
    best = np.argsort(-logits)[:50]
    some = [*rng.integers(0, logits.size, 30), *rng.choice(best, 12), logits.size + 5]
    text = rng.choice(some, 60).tolist()
    for _ in range(rng.integers(3)):  # a phrase comes again, and perhaps goes on
        start = int(rng.integers(len(text)))
        text += text[start : start + int(rng.integers(1, 12))]
    return text


def random_value(rng: np.random.Generator, name: str, vocab: int, text: list[int]) -> object:
    """A value of a stage, as its class takes it."""
    known = [token for token in text if token < vocab]

    def ids(most: int) -> list[int]:
        return [int(i) for i in rng.choice([*known, *rng.integers(0, vocab, 5)], most)]

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def phrase() -> list[int]:
        start = int(rng.integers(len(known)))
        return [*text[-int(rng.integers(1, 4)) :], *known[start : start + 1]]

    sequences = [*([i] for i in ids(int(rng.integers(1, 6)))), phrase(), ids(3)]
    values = {
        "logit_bias": lambda: {i: rng.choice([-100, -5, 0.5, 3, 100]) for i in ids(8)},
        "repetition_penalty": lambda: rng.choice([0.5, 0.8, 1.05, 1.3, 2, between(0.5, 2)]),
        "presence_penalty": lambda: rng.choice([-2, 0.1, 0.6, 2, 100, between(-2, 2)]),
        "frequency_penalty": lambda: rng.choice([-2, 0.1, 0.6, 2, 100, between(-2, 2)]),
        "dry": lambda: {
            "multiplier": float(rng.choice([0, 0.8, 3, 1000])),
            "base": float(rng.choice([1, 1.75, 4])),
            "allowed_length": int(rng.choice([1, 2, 4])),
            "last_n": int(rng.choice([-1, 1, 10, 40])),
            "breakers": ids(int(rng.integers(4))),
        },
        "no_repeat_ngram": lambda: rng.choice([1, 2, 3, 5, 1000]),
        "banned": lambda: [part for part in sequences if max(part) < vocab],
        "min_new_tokens": lambda: rng.choice([1, 20, 200]),
        "temperature": lambda: rng.choice(
            [1e-6, 0.05, 0.3, 0.7, 1.3, 2, 50, 1e6, between(0.1, 2)] + [0] * (rng.random() < 0.5)
        ),
        "dynamic_temperature": lambda: {
            "low": float(rng.choice([0, 0.3, 1])),
            "high": float(rng.choice([1, 1.5, 5])),
            "exponent": float(rng.choice([0.5, 1, 3])),
        },
        "top_h": lambda: rng.choice([0.01, 0.4, 0.9, 1, between(0.01, 1)]),
        "top_k": lambda: rng.choice([1, 2, 40, 200, 5000, vocab, rng.integers(1, vocab)]),
        "top_p": lambda: rng.choice([1e-4, 0.1, 0.5, 0.9, 0.99, 0.9999, between(0.01, 1)]),
        "min_p": lambda: rng.choice([1e-6, 1e-3, 0.02, 0.05, 0.3, 1, between(0, 1)]),
        "typical_p": lambda: rng.choice([1e-4, 0.2, 0.5, 0.9, 0.9999, between(0.01, 1)]),
        "epsilon_cutoff": lambda: rng.choice([1e-9, 3e-4, 4e-3, 0.3, 0.9]),
        "eta_cutoff": lambda: rng.choice([1e-9, 3e-4, 4e-3, 0.3, 0.9]),
        "top_n_sigma": lambda: rng.choice([0.01, 1, 1.5, 3, 100, between(0.1, 4)]),
        "tail_free": lambda: rng.choice([0.01, 0.5, 0.95, 0.9999, between(0.01, 1)]),
        "xtc": lambda: {
            "threshold": float(rng.choice([1e-3, 0.01, 0.1, 0.3, 0.7])),
            "probability": float(rng.choice([0, 0.5, 1])),
        },
        "mirostat": lambda: {
            "tau": float(rng.choice([0.1, 2, 3, 5, 12])),
            "eta": float(rng.choice([0.1, 1])),
        },
    }
    return values[name]()


def random_stage(rng: np.random.Generator, name: str, vocab: int, text: list[int]) -> Stage:
    value = random_value(rng, name, vocab, text)
    if isinstance(value, np.generic):
        value = value.item()
    if name in ("no_repeat_ngram", "min_new_tokens", "top_k"):
        value = min(int(value), vocab) if name == "top_k" else int(value)
    kind = STAGES[name]
    return kind(**value) if isinstance(value, dict) and name != "logit_bias" else kind(value)


def random_case(
    rng: np.random.Generator, logits: np.ndarray, names: list[str], text: list[int] | None = None
) -> Case:
    """A case with these stages, in this order."""
    text = random_text(rng, logits) if text is None else text
    chain = [random_stage(rng, name, logits.size, text) for name in names]
    return Case(
        logits,
        SamplingSettings(chain=chain),
        text,
        us=[0, 0.999, *rng.random(4)],
        prompt_length=int(rng.integers(len(text))),
        eos_ids=tuple(rng.integers(0, logits.size, 2).tolist()),
        xtc_u=float(rng.random()),
        mu=float(rng.uniform(-1, 12)) if rng.random() < 0.7 else None,
    )


def random_names(rng: np.random.Generator) -> list[str]:
    """Some stages, in half of the cases in an order of their own."""
    share = rng.choice([0.1, 0.3, 0.6])
    names = [kind.setting for kind in DEFAULT_ORDER if rng.random() < share]
    return [str(name) for name in rng.permutation(names)] if rng.random() < 0.5 else names


def measured(page, rows: list[list[Case]], *, perturb=lambda chain: chain) -> list[list[dict]]:
    """What the browser makes of the cases, by row; a few rows at a time."""
    results = []
    for first in range(0, len(rows), 10):
        batch = []
        for cases in rows[first : first + 10]:
            seen = [i for case in cases for i in seen_by(case)]
            header, data = pack_row(cases[0].logits, seen=seen, exact=True)
            batch.append(
                {
                    "header": header,
                    "data": base64.b64encode(data).decode(),
                    "cases": [
                        {"chain": perturb(case.chain), **case.plain_context} for case in cases
                    ],
                }
            )
        results += page.evaluate(MEASURE, batch)
    return results


def seen_by(case: Case) -> list[int]:
    """Tokens whose ranks the browser needs."""
    bias = case.settings.logit_bias or ()
    banned = case.settings.banned or ()
    return [*case.context, *case.eos_ids, *(i for i, _ in bias), *(i for s in banned for i in s)]


# --- the comparison ----------------------------------------------------------------------------


def differences(case: Case, result: dict) -> list[str]:
    """Everything in which the browser's result is not the engine's."""
    found: list[str] = []

    def compare(what: str, own, engine, tolerance: float = 0.0) -> None:
        if not math.isclose(own, engine, rel_tol=tolerance, abs_tol=tolerance):
            found.append(f"{what}: {own!r} here, {engine!r} in the engine")

    def compare_survivors(what: str, own: dict, survivors, moved: int) -> None:
        ids = np.frombuffer(base64.b64decode(own["ids"]), np.uint32)
        compare(f"{what} count", own["count"], survivors.count)
        compare(f"{what} start", own["start"], survivors.start)
        compare(f"{what} last score", own["last"], float(survivors.row.scores[survivors.ids[-1]]))
        if case.logits.size <= SMALL_VOCABULARY and ids.size != own["count"]:
            found.append(f"{what}: only {ids.size} ids of {own['count']}")
        least = min(own["count"], HEAD - moved - survivors.start)
        if ids.size < least:
            found.append(f"{what}: only {ids.size} ids known")
        if not np.array_equal(ids, survivors.ids[: ids.size]):
            found.append(f"{what}: other ids")

    try:
        distribution = case.distribution
    except NoCandidatesError as error:
        return [] if f"{result['emptied_by']} took" in str(error) else [f"emptied: {error}"]
    if result["emptied_by"]:
        return [f"emptied by {result['emptied_by']}"]
    if result["unknown"] and case.logits.min() > -np.inf:
        found.append(f"unknown ranks: {result['unknown']}")

    compare("entropy", result["raw_entropy"], distribution.raw.entropy_bits, 1e-9)
    compare("tempered", result["tempered_entropy"], distribution.entropy_bits, 1e-9)
    final = distribution.before_cuts
    moved = 0
    if not distribution.stages:
        compare_survivors("before the cuts", result["start"], final, moved)
    for own, stage in zip(result["stages"], distribution.stages, strict=True):
        # Whoever left the head or came from the tail ends what is known of the tail.
        moved += 2 * len(seen_by(case)) + stage.before.start
        compare_survivors(stage.name, own, stage.after, moved)
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
        if own["id"] not in (None, drawn.token_id):
            found.append(f"token drawn at {u}: {own['id']}")
        if own["id"] is None and place < HEAD - moved:
            found.append(f"token drawn at {u}: not known")
        if not own["from"] - 1e-12 <= u <= own["to"] + 1e-12:
            found.append(f"{u} does not lie in [{own['from']}, {own['to']})")
    return found
