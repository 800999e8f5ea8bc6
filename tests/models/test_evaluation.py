"""Every part of the evaluation, on texts and distributions with answers simple enough to verify."""

import functools
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from engine.decoder import Decoder
from engine.sampling import SamplingSettings
from models.training.evaluation import (
    diffusion,
    fact_tables,
    likelihood,
    recall,
    report,
    text_tables,
    timing,
)
from models.training.evaluation.facts import CAPITALS, CAPITALS_OTHERWISE, FACTS, OPEN
from models.training.evaluation.generation import continuation, continuations
from models.training.evaluation.loading import (
    documents,
    evenly,
    load_for_scoring,
    scorer,
)
from models.training.evaluation.markdown import code, quotation, table
from models.training.evaluation.timing import file_sizes, timed_load
from models.training.evaluation.verbatim import occurrences
from tests.engine import tiny_models

BUNDLED = Path(__file__).parents[2] / "models" / "target"


def _score(table):
    """Return a causal model that sees only the last token: token -> probabilities of the next."""
    with np.errstate(divide="ignore"):  # a probability of 0 is a logit of -inf
        rows = {token: np.log(np.array(probs, dtype=np.float32)) for token, probs in table.items()}
    return lambda ids: np.stack([rows[int(token)] for token in ids])


# Token 0 of four is the end of text. After 0 comes 1 or 2, then mostly the next number.
CHAIN = {
    0: (1 / 4, 1 / 2, 1 / 8, 1 / 8),
    1: (1 / 8, 1 / 8, 1 / 2, 1 / 4),
    2: (1 / 8, 1 / 8, 1 / 4, 1 / 2),
    3: (1 / 2, 1 / 4, 1 / 8, 1 / 8),
}


# Loading


def test_documents_keep_their_end_of_text_token():
    row = np.array([0, 5, 6, 0, 7, 0, 8])
    assert [document.tolist() for document in documents(row)] == [[0, 5, 6], [0, 7], [0, 8]]


def test_evenly_takes_the_ends_and_no_item_twice():
    assert evenly(range(9), 3) == [0, 4, 8]
    assert evenly(range(3), 40) == [0, 1, 2]
    assert evenly([], 3) == []


# Likelihood


def test_bits_per_byte_are_counted_by_position():
    # Document 0 1 2 3: 1 + 1 + 1 bits. Document 0 2: 3 bits. Tokens are 1, 2 and 3 bytes long.
    shards = {"a": np.array([0, 1, 2, 3, 0, 2])}
    sizes = np.array([0, 1, 2, 3])
    found = likelihood.held_out_bits(_score(CHAIN), shards, sizes, context=8, early=1)["a"]
    assert found.early == pytest.approx((1 + 3) / (1 + 2))
    assert found.late == pytest.approx((1 + 1) / (2 + 3))
    assert found.all == pytest.approx((1 + 3 + 1 + 1) / (1 + 2 + 2 + 3))
    shards = {"a": np.array([0, 1, 2, 3])}  # cut at the context length
    found = likelihood.held_out_bits(_score(CHAIN), shards, np.arange(4), context=2, early=2)["a"]
    assert found.late is None and found.all == pytest.approx((1 + 1) / (1 + 2))


def _even_score(ids):
    """Four equally likely tokens, and a fifth that is the mask."""
    return np.array([[0, 0, 0, 0, -np.inf]] * len(ids), dtype=np.float32)


def test_bound_of_uniform_model_is_log_vocabulary_size():
    # Four tokens and a mask: 2 bits per token, whatever is masked; 3 tokens in 6 bytes.
    shards = {"a": np.array([0, 1, 2, 3, 0, 3, 2, 1])}
    found = likelihood.diffusion_bound(
        _even_score, shards, np.array([0, 1, 2, 3, 0]), 8, mask_id=4, seed=0
    )["a"]
    assert found.bits == pytest.approx(2 * 3 / 6)
    assert found.standard_error == pytest.approx(0, abs=1e-6)


def test_bound_averages_over_mask_counts():
    """Use a model that is certain next to a visible neighbour and uniform without one.

    Of two tokens "1 2", one masked is known: 0 bits. Both masked: 2 bits each, 4 in all. Both cases
    are equally likely, so the bound is 2 bits; two draws, one from each half, give just that.
    """

    def score(ids):
        logits = _even_score(ids)
        if list(ids).count(4) == 1:
            logits[0, 1] = logits[1, 2] = 100
        return logits

    shards, sizes = {"a": np.array([0, 1, 2])}, np.array([0, 1, 1, 1, 0])
    found = likelihood.diffusion_bound(score, shards, sizes, 8, mask_id=4, seed=3, draws=2)["a"]
    assert found.bits == pytest.approx(2 / 2)


def test_stratified_counts_cover_every_number_evenly():
    generator = np.random.default_rng(5)
    counts = np.bincount(
        [c for _ in range(3000) for c in likelihood.stratified_counts(6, 3, generator)], minlength=7
    )
    assert counts[0] == 0 and len(counts) == 7
    assert counts[1] + counts[2] == counts[3] + counts[4] == counts[5] + counts[6] == 3000
    # 3,000 fair coins for each pair: by chance outside +-150 once in 2 x 10^7.
    assert abs(counts[[1, 3, 5]] - 1500).max() < 150


def test_standard_error_uses_mean_formula_for_equal_lengths():
    found = likelihood._bound(np.array([2.0, 4.0, 6.0]), np.array([2.0, 2.0, 2.0]))
    # Nats per byte 1, 2, 3: mean 2, standard error 1 / sqrt(3).
    assert found.bits == pytest.approx(2 / math.log(2))
    assert found.standard_error == pytest.approx(1 / math.sqrt(3) / math.log(2))


# Facts

WORDS = {"a": [1], "b": [2], " b": [2], " c": [3], " bc": [2, 3], " bb": [2, 2], " x": [0]}


def test_recall_counts_first_tokens_and_whole_answers():
    def found(questions, end_of_text):
        return recall.recall(_score(CHAIN), WORDS.__getitem__, questions, end_of_text=end_of_text)

    both = found({"a": ("bc",), "b": ("b", "x")}, end_of_text=False)
    # After a: b comes first, then c: spelled. After b: c comes first; b and x are in the top five.
    assert (both.asked, both.first, both.first_five, both.spelled) == (2, 1, 2, 1)
    assert both.missed == {"b": 3}
    beginning = found({"a": ("bb",)}, end_of_text=True)
    assert (beginning.first, beginning.spelled) == (1, 0), "a beginning is no whole answer"
    several = found({"a": ("c", "bc")}, end_of_text=True)
    assert (several.first, several.spelled) == (1, 1), "one answer is enough"


def test_end_of_text_token_is_prepended_on_request():
    seen = []

    def score(ids):
        seen.append(list(ids))
        return _score(CHAIN)(ids)

    for end_of_text in (True, False):
        recall.recall(score, WORDS.__getitem__, {"a": ("b",)}, end_of_text=end_of_text)
    assert seen == [[0, 1, 2], [1, 2]]


def test_entropy_is_measured_after_the_prompt():
    found = recall.entropies(_score(CHAIN | {3: (1, 0, 0, 0), 1: (1 / 4,) * 4}), [[0, 1], [1, 3]])
    assert found.bits == pytest.approx((2, 0), abs=1e-6)
    assert (found.mean, found.lowest, found.highest) == pytest.approx((1, 0, 2), abs=1e-6)


def test_most_probable_tokens_come_in_order():
    found = recall.most_probable(_score(CHAIN), [0, 1], count=2)
    assert [token for token, _ in found] == [2, 3]
    assert [p for _, p in found] == pytest.approx([1 / 2, 1 / 4])


def test_fact_prompts_are_unique_and_end_before_the_space():
    groups = (CAPITALS, CAPITALS_OTHERWISE, *FACTS.values())
    prompts = [*(prompt for group in groups for prompt in group), *OPEN]
    assert len(set(prompts)) == len(prompts), "a prompt is asked twice"
    for prompt, accepted in (item for group in groups for item in group.items()):
        assert prompt == prompt.strip(), "the space before the answer belongs to the answer"
        assert accepted and all(answer == answer.strip() != "" for answer in accepted)


# Prompts in the training texts

PIECES = [b"\x00", b"the", b" cat", b" sat", b"\n", b"."]


def test_occurrences_are_counted_within_each_document():
    shards = {
        "a": np.array([0, 1, 2, 3, 5, 0, 1, 2]),
        "b": np.array([0, 1, 2, 4, 1, 2, 3, 0, 3]),
    }
    prompts = ["the cat", "cat sat.", "cat the cat", "sat sat", "The cat"]
    assert occurrences(prompts, shards, PIECES) == {
        "the cat": 4,
        "cat sat.": 1,
        "cat the cat": 1,
        "sat sat": 0,
        "The cat": 0,
    }


# Markdown


def test_markdown_aligns_numbers_and_escapes_texts():
    assert table(("", "n", "share"), [("a|b", 12345, 0.5), ("c", 2, None)], digits=2) == (
        "|  | n | share |\n| --- | ---: | ---: |\n| a&#124;b | 12,345 | 0.50 |\n| c | 2 | – |"
    )
    assert quotation("Q: a\nA:", " *b*\n\nc_d <e>") == (
        "> **Q: a**<br>\n> **A:** \\*b\\*\n>\n> c\\_d &lt;e>"
    )
    assert code(" a\n`b`") == "` a↵'b'`"


# Timing


def test_only_the_second_load_is_timed(tmp_path):
    loads = []
    model, seconds = timed_load(lambda folder: loads.append(folder) or len(loads), tmp_path)
    assert model == 2 and loads == [tmp_path] * 2 and seconds >= 0


def test_file_sizes_separate_weights_from_the_total(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1234567")
    (tmp_path / "config.json").write_bytes(b"123")
    (tmp_path / "more").mkdir()
    assert file_sizes(tmp_path) == (7, 10)


# With real, tiny models


def test_scorer_rows_match_decoder_logits():
    model = tiny_models.shared("qwen3")
    decoder = Decoder(model, [5, 6, 7], SamplingSettings())
    for _ in range(4):
        decoder.step()
    rows = scorer(model)([5, 6, 7, *decoder.token_ids])
    for index in range(4):
        np.testing.assert_allclose(rows[2 + index], decoder.logits(index), atol=1e-4)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Tiny random models in the format of the bundled ones, with the bundled tokenizer."""
    folder = tmp_path_factory.mktemp("models")
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    special = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
    for seed, name in enumerate(("target", "draft", "diffusion")):
        changes = special | {"vocab_size": len(tokenizer), "tie_word_embeddings": True}
        if name == "diffusion":
            tokenizer.add_special_tokens({"mask_token": "<|mask|>"})
            changes |= {"vocab_size": len(tokenizer), "is_causal": False}
            changes["mask_token_id"] = tokenizer.mask_token_id
        tiny_models.build("qwen3", seed, **changes).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.fixture(scope="module")
def model(exported):
    return load_for_scoring(exported / "target")


def test_continuation_matches_the_decoder(model):
    settings = SamplingSettings(temperature=0.7, seed=3)
    (first, text) = continuations(model, ["The sun is"], settings, (4, 3), 5)
    decoder = Decoder(model, "The sun is", settings)
    assert list(text.ids) == [step.token_id for step in decoder.run(5)]
    assert (text.text, text.seed, text.ended) == (decoder.text, 3, False)
    assert list(text.prompt_ids) == model.vocabulary.encode("The sun is")
    assert (first.seed, first.prompt) == (4, text.prompt) and first.ids != text.ids


def test_continuation_excludes_end_of_text_token(model, monkeypatch):
    greedy = SamplingSettings(temperature=0.0)
    third = continuation(model, "The sun is", greedy, 3).ids[2]
    monkeypatch.setattr(model, "eos_ids", (third,))
    text = continuation(model, "The sun is", greedy, 9)
    assert text.ended and len(text.ids) <= 2 and third not in text.ids


@pytest.fixture
def short(monkeypatch):
    """The same evaluation, on a few tokens of each kind."""
    capitals = ("The capital of France is", "The capital of Germany is")
    for module, name, value in (
        (fact_tables, "CAPITALS", {name: CAPITALS[name] for name in capitals}),
        (fact_tables, "CAPITALS_OTHERWISE", dict([*CAPITALS_OTHERWISE.items()][:2])),
        (fact_tables, "FACTS", {name: FACTS[name] for name in ("shapes", "colours")}),
        (text_tables, "STORY_PROMPTS", ("Once upon a time",)),
        (text_tables, "OTHER_PROMPTS", ("The sun is",)),
        (text_tables, "CONTINUATION_TOKENS", 12),
        (text_tables, "SAMPLE_TOKENS", 8),
        (text_tables, "SAMPLES", {"Once upon a time": range(2)}),
        (diffusion, "STEPS", (1, 8)),
        (timing, "median_ms", functools.partial(timing.median_ms, repeats=4)),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="module")
def tokens(model):
    story = model.vocabulary.encode("The old fox went home to his supper and ate some bread. " * 7)
    fact = model.vocabulary.encode("The capital of France is Paris.\nA cat is an animal.")
    texts = {
        "facts": [0, *fact, 0, *fact],
        "stories": [0, *story[:60], 0, *story[5:70]],
        "valid_stories": [0, *story[:90], 0, *story[9:99]],
    }
    return {name: np.array(ids, dtype=np.uint16) for name, ids in texts.items()}


@pytest.mark.long
def test_whole_evaluation_runs_and_prints_its_tables(exported, tokens, short, capsys):
    found = report.evaluate(exported, tokens)
    printed = capsys.readouterr()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["absent"] == []
    assert set(found["timing"]) == set(found["weights"]) == {"target", "draft", "diffusion"}
    assert found["verbatim"]["capitals"] == {"The capital of France is": 2}
    assert found["facts"]["recall"]["capitals"]["with"]["asked"] == 2
    # 90 tokens of a text; the training texts contain 60 and 65 of them, which overlap.
    assert found["recitation"]["held-out stories"]["longest"] == 12
    assert found["recitation"]["held-out stories"]["share"] == 1
    assert found["acceptance"]["1.0"]["positions"] == 4 * 12
    assert [entry["seed"] for entry in found["samples"]] == [0, 1]
    assert "\n| ---" in printed.out and "evaluate: timing took" in printed.err


@pytest.mark.long
def test_draft_equal_to_target_is_always_accepted(exported, short):
    target = report.Target.from_folder(exported / "target")
    texts = text_tables.write_texts(target.model)
    for row in text_tables.acceptance_table(exported / "target", target.score, texts).values():
        assert row["acceptance"] == pytest.approx(1, abs=1e-5)
        assert row["tokens_per_pass"] == pytest.approx(5, abs=1e-4)


def test_missing_models_are_named(exported, tokens, tmp_path, capsys):
    shutil.copytree(exported / "diffusion", tmp_path / "diffusion")
    found = report.evaluate(tmp_path, tokens)
    assert found["absent"] == ["target", "draft"]
    assert set(found["likelihood"]) == {"diffusion"} and "samples" not in found
    assert "not there: target, draft." in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="target, draft, diffusion"):
        report.evaluate(tmp_path / "empty", {})
