"""Every claim on a model for which it holds, and on a broken one: the right verdicts flip."""

import math
from collections.abc import Iterator
from string import ascii_lowercase

import pytest

from engine.claims.experiments.beam import BeamTexts, Searched
from engine.claims.experiments.broken_json import WAYS, BrokenJson, JsonRun, Judged
from engine.claims.experiments.calibration import Calibration, Sure
from engine.claims.experiments.letters import TASKS, Letters, Spelt
from engine.claims.experiments.nucleus_adapts import NucleusAdapts
from engine.claims.experiments.one_token import Fork, OneToken, lacks
from engine.claims.experiments.speculative import Sped, Speedups
from engine.claims.experiments.truth import Answered, Truth
from engine.claims.facts import Fact
from engine.claims.survivors import Steps
from engine.claims.verdict import DEPENDS, FAILS, HOLDS, OPEN, judge
from engine.decoder import Decoder
from engine.errors import SettingError
from engine.measure.machine import Setting
from engine.measure.pace import Pace
from engine.measure.report import Report
from engine.sampling import SamplingSettings
from engine.study.set_texts import BEAM, GREEDY, SAMPLE
from tests.engine.claims.experiments import SHORT, experiment

# By claim: the verdicts on the chain and on the broken model, whose logits are all 0.
WANTED = {
    "one_token": (HOLDS, FAILS),  # greedily it repeats one token for ever, whatever was forced
    "same_seed": (HOLDS, HOLDS),  # a seed is a seed
    "determinism": (DEPENDS, FAILS),  # its sums have one term: only the dtype changes them
    "nucleus_adapts": (HOLDS, FAILS),  # its nucleus is nine tenths of the vocabulary at every step
    "fixed_k": (HOLDS, DEPENDS),  # never too loose, always too tight
    "tail": (DEPENDS, HOLDS),  # no temperature gives it a tail
    "truth": (HOLDS, OPEN),  # it says nothing
    "calibration": (HOLDS, OPEN),  # a certain chain; a model that says nothing
    "temperature": (HOLDS, FAILS),  # nothing can be more random
    "greedy_loops": (HOLDS, HOLDS),  # it loops on one token
    "penalties": (HOLDS, FAILS),  # a logit of 0 stays 0, whatever divides it
    "letters": (OPEN, OPEN),  # neither model can name letters that are spelled out
    "beam": (DEPENDS, FAILS),  # greedy text repeats as much; all texts are equally likely
    "broken_json": (HOLDS, HOLDS),  # neither model can write JSON by itself
    "speculative": (OPEN, OPEN),  # one prompt gives no interval, however long it took
    "long_context": (HOLDS, HOLDS),  # bytes do not depend on their contents
}


def cases() -> Iterator:
    """Each claim on both models; the second is a long form if it gets the same verdict."""
    for name in SHORT:
        on_chain, on_uniform = WANTED[name]
        yield name, "chain", on_chain
        marks = pytest.mark.long if on_uniform == on_chain else ()
        yield pytest.param(name, "uniform", on_uniform, marks=marks)


@pytest.mark.parametrize(("name", "model", "wanted"), [*cases()])
def test_claims_get_expected_verdicts_on_both_models(name, model, wanted, request):
    run = experiment(name, model := request.getfixturevalue(model))
    assert run.result is None and run.seconds(Pace((1, 8), (1.0, 2.0), 1.0)) > 0
    list(run.run())
    result = run.result
    kept = Report.from_json(
        Report(Setting.here(model), {name: result}).to_json(), {name: type(result)}
    )
    assert kept.parts[name] == result, "a file keeps all that a verdict needs"
    assert judge(result.checks).outcome == wanted


@pytest.mark.parametrize(
    ("at_two", "at_eight", "outcome"),
    [(2.5, 2.2, HOLDS), (2.5, 0.8, DEPENDS), (1.4, 0.8, FAILS)],
)
def test_speedup_verdict_compares_with_the_promised_factor(at_two, at_eight, outcome):
    trials = [
        Sped(f"prompt {n}", length, 3, 4, 12, 4, 3 / (speedup + n / 100))
        for length, speedup in ((2, at_two), (8, at_eight))
        for n in range(6)
    ]
    found = Speedups(tuple(trials), 2.0, True, (1.0,) * 6)
    assert judge(found.checks).outcome == outcome
    unsteady = Speedups(tuple(trials), 2.0, True, (1.0,) * 5 + (2.0,))
    assert judge(unsteady.checks).outcome == OPEN
    figures = {check.name: check.figure.value for check in found.checks}
    assert (figures["accepted"], figures["per_pass"]) == (0.75, 3.0)
    assert figures["per_pass"] / figures["cost"] == pytest.approx(figures["speedup"])


def test_letters_verdict_needs_spelled_out_words_as_control():
    def outcome(whole: bool, spelled: bool, rare: int) -> str:
        words = [
            Spelt(group, ascii_lowercase[n : 2 * n + 1], ("t",) * tokens, *answers(whole, spelled))
            for group, tokens in (("common", 1), ("rare", rare))
            for n in range(9)
        ]
        return judge(Letters(tuple(words)).checks).outcome

    def answers(whole: bool, spelled: bool) -> tuple:
        return ("a",) * len(TASKS), (whole,) * len(TASKS), (spelled,) * len(TASKS)

    assert (outcome(False, True, 3), outcome(True, True, 3)) == (HOLDS, DEPENDS)
    assert (outcome(True, True, 1), outcome(False, False, 3)) == (FAILS, OPEN)


def test_tokens_that_return_shifted_count_as_kept():
    assert lacks([9, 1, 2, 3, 4], [1, 2, 3, 4]) == (False,) * 4, "the same words, one later"
    assert lacks([5, 3, 4, 6], [1, 2, 3, 4]) == (True, True, False, False)
    assert lacks([], [1]) == (True,)


def test_one_token_claim_stays_open_if_control_changes():
    def outcome(control: float) -> str:
        forks = [
            Fork(f"prompt {n}", "", "a", "b", 0.1, "x", "y", (True,) * 4, control) for n in range(6)
        ]
        return judge(OneToken(tuple(forks)).checks).outcome

    assert (outcome(0.0), outcome(0.25)) == (HOLDS, OPEN)


def test_json_verdict_accounts_for_valid_unconstrained_texts():
    def outcome(free: bool, kept: bool = True) -> str:
        valid = {"kept": kept, "free": free, "wrong": False}
        texts = tuple(Judged(way, "{", valid[way], "") for way in WAYS)
        return judge(
            BrokenJson(tuple(JsonRun(n, 3, "a", "b", texts) for n in range(8))).checks
        ).outcome

    assert (outcome(free=False), outcome(free=True)) == (HOLDS, DEPENDS)
    assert outcome(free=True, kept=False) == FAILS


def test_first_word_without_an_answer_is_not_judged():
    fact = Fact("world", "The pyramids of Giza stand in", ("Egypt",))
    assert [fact.is_right(word) for word in ("egypt", "Rome", "the", "A", "")] == [
        *(True, False, None, None, None)
    ]
    assert Fact("pronouns", "She and", ("he",)).is_right("he"), "where it is the right answer"
    said = [Answered(fact, word, "Egypt", 5) for word in ("Egypt", "Rome", "the", "the")]
    figures = {check.name: check.figure.value for check in Truth(tuple(said), 9).checks}
    assert (figures["all"], figures["silent"], figures["majority"]) == (0.5, 0.5, 1.0)


def test_nucleus_verdict_compares_unsure_with_sure_steps():
    def outcome(sure: int, unsure: int) -> str:
        size = tuple([sure, unsure] * 8)
        steps = Steps("p", ("t",) * 16, (0.1, 5.0) * 8, size, (0.9,) * 16)
        return judge(NucleusAdapts((steps,) * 5, 40, 0.9).checks).outcome

    assert (outcome(1, 30), outcome(10, 11), outcome(30, 1)) == (HOLDS, FAILS, FAILS)
    # Sizes that differ as much, but at steps that are equally sure.
    mixed = Steps("p", ("t",) * 16, (0.1, 0.1, 5.0, 5.0) * 4, (1, 90) * 8, (0.9,) * 16)
    assert judge(NucleusAdapts((mixed,) * 5, 40, 0.9).checks).outcome == FAILS


def test_beam_verdict_also_compares_with_greedy_decoding():
    def outcome(greedy: float) -> str:
        distinct = {BEAM: 0.6, GREEDY: greedy, SAMPLE: 0.9}
        logprob = {BEAM: -5.0, GREEDY: -9.0, SAMPLE: -30.0}
        texts = [
            Searched(f"prompt {n}", kind, "", logprob[kind], distinct[kind])
            for n in range(6)
            for kind in (BEAM, GREEDY, SAMPLE)
        ]
        return judge(BeamTexts(tuple(texts)).checks).outcome

    assert (outcome(0.8), outcome(0.6)) == (HOLDS, DEPENDS)


def test_schema_format_without_second_parser_is_refused(uniform):
    schema = '{"enum": [["the"], ["on"]], "items": {"format": "hostname"}}'
    run = experiment("broken_json", uniform, source=schema)
    with pytest.raises(SettingError, match="no second parser"):
        next(run.run())


def test_calibration_compares_sureness_with_right_answers():
    fact = Fact("pets", "The cat", ("sat",))
    right, wrong = (lambda sure, word=word: Sure(fact, word, sure) for word in ("sat", "ran"))
    fair = [right(0.95)] * 19 + [wrong(0.95)] + [right(0.6)] * 6 + [wrong(0.6)] * 4
    assert judge(Calibration(tuple(fair * 4)).checks).outcome == HOLDS
    boastful = Calibration(tuple([wrong(0.99)] * 30 + [Sure(fact, "the", 0.9)]))
    assert judge(boastful.checks).outcome == FAILS and len(boastful.judged) == 30
    assert [(str(name), len(some)) for name, some in boastful.groups()] == [
        ("90 to 100 % sure", 30)
    ]
    gap = boastful.checks[0].figure
    assert gap.value == pytest.approx(0.99)


def test_an_answers_probability_is_that_of_its_tokens(chain):
    found = experiment("calibration", chain)
    list(found.run())
    for one in found.result.answers[:3]:
        decoder = Decoder(chain, one.fact.question, SamplingSettings(temperature=0.0))
        nats = 0.0
        while not decoder.text.strip() or decoder.text.strip() != one.answer:
            nats += decoder.step().logprob
        assert one.probability == pytest.approx(math.exp(nats), abs=1e-6)
