"""Stepping: reasons to stop a run, and the resulting text."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import ContextFullError, PromptError, SettingError, TokenizerError
from engine.model import LanguageModel
from engine.sampling.speculation import SpeculativeSettings
from tests.engine import tiny_models
from tests.engine.conftest import END
from tests.engine.runs import GREEDY, assert_same_run, finished, generate, rows, sampling

TOKENS = 30
PROMPT = tiny_models.prompt(0)


# Reasons to stop a run.


def test_max_tokens_counts_all_generated_tokens(llama):
    lone = finished(Decoder(llama, PROMPT, sampling(0)), 15)
    decoder = Decoder(llama, PROMPT, sampling(0))
    decoder.step()

    assert [step.index for step in decoder.run(10)] == list(range(1, 10))
    assert decoder.stop_reason == "max_tokens"
    assert [step.stop_reason for step in decoder.steps[:-1]] == [None] * 9
    assert list(decoder.run(10)) == [], "a second run to the same limit has nothing to do"
    assert list(decoder.run(3)) == list(decoder.run(0)) == []
    assert len(list(decoder.run(15))) == 5
    assert decoder.token_ids == lone.token_ids, "a run in two halves gave other tokens"
    assert decoder.step().stop_reason is None, "a limit holds for its run only"


def test_a_limit_belongs_to_its_own_run(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    held, abandoned = decoder.run(3), decoder.run(3)
    next(held), next(abandoned)
    abandoned.close()
    assert [decoder.step().stop_reason for _ in range(2)] == [None, None]
    assert list(held) == [], "three tokens are there, whoever took them"
    first, second = decoder.run(6), decoder.run(8)
    next(first), next(second)
    first.close()
    assert [step.index for step in second] == [6, 7]
    assert decoder.stop_reason == "max_tokens"


def test_concurrent_runs_stop_together_at_the_limit(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: list(decoder.run(20)), range(4)))
    assert len(decoder.steps) == 20
    assert decoder.stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("prompt", "error", "said"),
    [
        (None, PromptError, "one row of token ids"),
        ([1.5], PromptError, "one row of token ids"),
        (torch.ones(1, 3, dtype=torch.long), PromptError, "one row of token ids"),
        ([], PromptError, "no token"),
        ([1, -1], PromptError, "ids 0 to 95"),
        ([1, tiny_models.VOCAB], PromptError, "ids 0 to 95"),
        ("text without a tokenizer", TokenizerError, "token ids"),
    ],
)
def test_unusable_prompt_is_refused(llama, prompt, error, said):
    with pytest.raises(error, match=said):
        Decoder(llama, prompt)


def test_invalid_arguments_are_refused_at_once(llama):
    with pytest.raises(SettingError, match="must be SamplingSettings"):
        Decoder(llama, PROMPT, {"temperature": 1})
    with pytest.raises(SettingError, match="stop_strings"):
        Decoder(llama, PROMPT, stop_strings=["a", ""])
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 2)
    with pytest.raises(SettingError, match="max_new_tokens"):
        decoder.run(-1)
    with pytest.raises(SettingError, match="step index"):
        decoder.logits("a")


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "mistral"])
def test_run_ends_when_the_context_is_full(architecture):
    changes = {"n_positions": 24} if architecture == "gpt2" else {"max_position_embeddings": 24}
    model = LanguageModel(tiny_models.build(architecture, **changes))
    decoder = Decoder(model, PROMPT, sampling(0))
    assert decoder.tokens_left == 17

    steps = list(decoder.run(24))

    assert len(steps) == 17 and decoder.stop_reason == "context" and decoder.tokens_left == 0
    with pytest.raises(ContextFullError, match="24"):
        decoder.step()
    ids, logits = decoder.token_ids, rows(decoder)
    decoder.rewind(5)
    finished(decoder, 17)
    assert_same_run(decoder, ids, logits, "Rewound from a full context")


def test_run_takes_no_step_in_a_full_context(llama):
    decoder = Decoder(llama, tiny_models.prompt(0, tiny_models.CONTEXT - 3), sampling(0))
    finished(decoder, 3)  # the limit and the end of the context coincide
    assert decoder.stop_reason in ("max_tokens", "context") and decoder.tokens_left == 0
    assert list(decoder.run(4)) == [], "the end of the context ends a run, it does not fail it"


def test_prompt_must_leave_room_in_the_context():
    model = LanguageModel(tiny_models.build("gpt2", n_positions=24))
    with pytest.raises(PromptError, match="shorten it to 23 tokens"):
        Decoder(model, tiny_models.prompt(0, 24))
    decoder = Decoder(model, tiny_models.prompt(0, 23), GREEDY)
    assert [step.stop_reason for step in decoder.run(10)] == ["context"]


@pytest.mark.parametrize("source", ["configuration", "tokenizer"])
def test_parity_ends_texts_like_generate(source):
    hf = tiny_models.build("llama", 4)
    free = finished(Decoder(LanguageModel(hf), PROMPT, GREEDY), TOKENS)
    end = free.token_ids[5]
    words = models.WordLevel({str(i): i for i in range(tiny_models.VOCAB)}, "0")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words))
    if source == "configuration":
        hf.config.eos_token_id = end
    else:
        tokenizer.eos_token = str(end)
    model = LanguageModel(hf, tokenizer)
    steps = list(Decoder(model, PROMPT, GREEDY).run(TOKENS))
    assert (steps[-1].stop_reason, steps[-1].token_id) == ("eos", end)
    in_parity = GREEDY.replace(parity=True)
    on = finished(Decoder(model, PROMPT, in_parity), TOKENS)
    assert on.token_ids == generate(model, PROMPT, TOKENS)[0]
    twin = on.fork()
    twin.rewind(free.token_ids.index(end))
    assert twin.step().stop_reason is None
    twin.rewind(free.token_ids.index(end))
    twin.settings = GREEDY
    assert twin.step().stop_reason == "eos"


@pytest.mark.parametrize(("count", "parity"), [(1, True), (3, True), (3, False)])
def test_every_end_of_text_id_ends_a_run(count, parity):
    settings = sampling(4, parity=parity)
    free = finished(Decoder(tiny_models.shared("llama", 4), PROMPT, settings), TOKENS)
    later = list(dict.fromkeys(free.token_ids))[8:]  # ids in the order in which they first occur
    ends = sorted(later[:count])
    hf = tiny_models.build("llama", 4)
    hf.generation_config.eos_token_id = ends[0] if count == 1 else ends
    model = LanguageModel(hf)
    assert model.eos_ids == tuple(ends)

    decoder = Decoder(model, PROMPT, settings)
    steps = list(decoder.run(TOKENS))

    first = min(map(free.token_ids.index, ends))
    assert decoder.token_ids == free.token_ids[: first + 1], "the end is a step, then it is over"
    assert steps[-1].token_id == decoder.token_ids[-1]
    assert [step.stop_reason for step in steps] == [None] * first + ["eos"]
    assert list(decoder.run(TOKENS)) == [], "a finished text does not run on"
    if parity:
        limits = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1}
        ids, _ = generate(model, PROMPT, TOKENS, 4, pad_token_id=0, **limits)
        assert ids == decoder.token_ids


def test_end_of_text_takes_precedence_over_max_tokens(llama):
    free = finished(Decoder(llama, PROMPT, GREEDY), 10)
    llama.eos_ids = (free.token_ids[9],)
    first = free.token_ids.index(free.token_ids[9])
    decoder = Decoder(llama, PROMPT, GREEDY)
    list(decoder.run(first + 1))
    assert decoder.stop_reason == "eos"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_stop_strings_begin_and_end_inside_tokens(text_model, seed):
    free = finished(Decoder(text_model, "the cat", sampling(seed, top_k=0)), 60)
    text, ends = free.text, np.cumsum([len(step.text) for step in free.steps]).tolist()
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(6):
        start = int(rng.integers(0, len(text) - 8))
        string = text[start : start + int(rng.integers(1, 8))]
        expected = next(i for i, end in enumerate(ends) if string in text[:end])

        decoder = Decoder(text_model, "the cat", sampling(seed, top_k=0), stop_strings=string)
        steps = list(decoder.run(60))

        assert len(steps) == expected + 1, f"{string!r} should stop at step {expected}"
        assert decoder.stop_reason == "stop_string" and steps[-1].stop_string == string
        assert all(step.stop_reason is None for step in steps[:-1])
        assert string in decoder.text, "the text keeps the stop string"


def force_text(model: LanguageModel, text: str, prompt: str = "the", **arguments) -> Decoder:
    """Force a decoder to write `text`, until it finds a stop string."""
    decoder = Decoder(model, prompt, **arguments)
    for token_id in model.tokenizer(text)["input_ids"]:
        if decoder.step(token_id).stop_reason:
            break
    return decoder


@pytest.mark.parametrize(
    ("stops", "found", "text"),
    [
        (["dog", "t o", "sat on"], "sat on", " the cat sat on"),  # the one that begins first
        (["sat", "sa"], "sa", " the cat sat"),  # at the same place, the shorter one
        (["nowhere", "the cat\n"], None, " the cat sat on the mat"),
        ("日本", "日本", "日本"),
    ],
)
def test_the_earliest_stop_string_wins_and_is_named(text_model, stops, found, text):
    whole = "日本語 the" if "日本" in stops else " the cat sat on the mat"
    decoder = force_text(text_model, whole, stop_strings=stops)
    assert decoder.text.startswith(text)
    assert decoder.stop_reason == ("stop_string" if found else None)
    assert decoder.steps[-1].stop_string == found


def test_stop_string_cannot_begin_in_the_prompt(text_model):
    assert force_text(text_model, "t", "the ca", stop_strings="cat").stop_reason is None


WAYS = {
    "plain": lambda model, only, stop: Decoder(model, "a", only, stop_strings=stop),
    "speculative": lambda model, only, stop: SpeculativeDecoder(
        model, "a", None, SpeculativeSettings(only), stop_strings=stop
    ),
    "contrastive": lambda model, only, stop: ContrastiveSearch(
        model, "a", chain=only.edits, stop_strings=stop
    ),
    "beam": lambda model, only, stop: BeamSearch(
        model, "a", BeamSettings(2, chain=only.edits), stop_strings=stop
    ),
}


@pytest.mark.parametrize(("way", "string"), [*((way, f"{END}<|e") for way in WAYS), ("plain", END)])
def test_stop_string_matches_control_token_names_like_generate(text_hf, tokenizer, way, string):
    without_end = deepcopy(tokenizer)
    without_end.eos_token = None  # it stays a control token
    model = LanguageModel(text_hf, without_end)
    end = tokenizer.eos_token_id
    theirs = text_hf.generate(
        torch.tensor([tokenizer("a")["input_ids"]]),
        do_sample=False,
        max_new_tokens=6,
        pad_token_id=0,
        sequence_bias=[[[end], 500.0]],
        stop_strings=[string],
        tokenizer=tokenizer,
    )[0, 1:].tolist()
    text = WAYS[way](model, GREEDY.replace(logit_bias={end: 500}), string)
    assert [*text.run(6)] and text.token_ids == theirs == [end] * len(theirs)
    assert text.text == "" and len(theirs) < 6


def test_end_of_text_is_special_despite_the_tokenizer():
    words = Tokenizer(models.WordLevel({"7": 0, "a": 1}, unk_token="a"))
    words.decoder = decoders.Fuse()
    words.add_tokens(["<|im_end|>", "<|eot|>"])
    hf = tiny_models.build("llama", vocab_size=4)
    hf.generation_config.eos_token_id = [2, 3]
    model = LanguageModel(hf, PreTrainedTokenizerFast(tokenizer_object=words))
    for end in (2, 3):
        decoder = Decoder(model, [1], stop_strings="<|")
        decoder.step(0)
        step = decoder.step(end)
        assert (decoder.text, step.is_special, step.text) == ("7", True, "")
        assert (step.stop_reason, step.stop_string) == ("eos", None)


# Text.


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.long)])
def test_text_equals_the_tokenizers_decoding(text_model, tokenizer, seed):
    decoder = finished(Decoder(text_model, "naïve 日本", sampling(seed, top_k=0)), 60)

    decoded = tokenizer.decode(decoder.token_ids, skip_special_tokens=True)
    pending = decoder.pending_bytes.decode("utf-8", "replace")

    assert decoder.text + pending == decoded
    assert decoder.text == "".join(step.text for step in decoder.steps) == decoder.trace().text
    assert decoder.prompt_ids == tokenizer("naïve 日本")["input_ids"]
    decoder.rewind(31)
    assert decoder.text == "".join(step.text for step in decoder.steps)
    finished(decoder, 60)
    assert decoder.text + pending == decoded, "rewinding inside a character changed the text"


def test_outputs_without_tokenizer_entry_can_be_drawn(tokenizer):
    known = len(tokenizer)
    model = LanguageModel(tiny_models.build("llama", vocab_size=known + 40), tokenizer)
    assert model.vocab_size == known + 40
    assert any(f"{known:,} entries" in notice for notice in model.notices)

    decoder = Decoder(model, "the cat", sampling(0, temperature=1.5, top_k=0, top_p=1))
    step = decoder.step(known + 39)
    assert (step.token_bytes, step.text, step.is_special) == (b"", "", False)
    assert model.vocabulary.label(known + 39) == f"<id {known + 39}>"
    finished(decoder, 60)
    assert any(step.token_id >= known for step in decoder.steps), "outputs without entry are drawn"
    with pytest.raises(SettingError, match="vocabulary"):
        decoder.step(known + 40)
    end = decoder.step(tokenizer.eos_token_id)
    assert (end.token_bytes, end.text, end.is_special) == (END.encode(), "", True)


def test_prompt_text_beyond_the_model_is_refused(tokenizer):
    model = LanguageModel(tiny_models.build("llama", vocab_size=60), tokenizer)
    with pytest.raises(PromptError, match="ids 0 to 59"):
        Decoder(model, "the cat sat on the mat")
