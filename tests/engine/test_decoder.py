"""Stepping: what stops a run, forced tokens, changed settings, proposals, failures, text."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import torch
import transformers

from engine.decoder import Decoder
from engine.errors import (
    ContextFullError,
    LogitsError,
    ModelError,
    OutOfMemoryError,
    PromptError,
    RecordError,
    SettingError,
    TokenizerError,
)
from engine.model import LanguageModel, load_model
from engine.prefix import Prefix
from engine.record import LogitRecord
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, generate, rows, sampling

TOKENS = 30
PROMPT = tiny_models.prompt(0)
native_and_parity = pytest.mark.parametrize("parity", [False, True], ids=["native", "parity"])


@pytest.fixture
def llama() -> LanguageModel:
    """A model of the test's own, to be changed and broken."""
    return LanguageModel(tiny_models.build("llama"))


# What stops a run.


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


def test_a_run_left_in_the_middle_sets_no_limit(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    run = decoder.run(5)
    next(run)
    run.close()
    assert [decoder.step().stop_reason for _ in range(6)] == [None] * 6


def test_a_limit_belongs_to_its_own_run(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    held = decoder.run(3)
    next(held)
    assert [decoder.step().stop_reason for _ in range(2)] == [None, None]
    assert list(held) == [], "three tokens are there, whoever took them"
    first, second = decoder.run(6), decoder.run(8)
    next(first), next(second)
    first.close()
    assert [step.index for step in second] == [5, 6, 7]
    assert decoder.stop_reason == "max_tokens"


def test_runs_of_several_threads_stop_together_at_the_limit(llama):
    decoder = Decoder(llama, PROMPT, sampling(0))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: list(decoder.run(20)), range(4)))
    assert len(decoder.steps) == 20
    assert decoder.stop_reason == "max_tokens"


def test_a_step_that_cannot_be_recorded_can_be_taken_again(llama, monkeypatch):
    lone = finished(Decoder(llama, PROMPT, sampling(0)), 8)
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 4)
    with monkeypatch.context() as patch:
        patch.setattr(LogitRecord, "keep", _full_disk)
        for _ in range(2):
            with pytest.raises(RecordError):
                decoder.step()
    assert_same_run(finished(decoder, 8), lone.token_ids, rows(lone), "after a full disk")


def _full_disk(*args, **kwargs):
    raise RecordError("no space left")


def test_an_interrupted_step_leaves_no_text_behind(text_model, monkeypatch):
    decoder = Decoder(text_model, "the cat", sampling(0))
    decoder.step()
    text = decoder.text
    with monkeypatch.context() as patch:
        patch.setattr(Decoder, "_why_stop", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.step()
    assert decoder.text == text
    finished(decoder, 6)
    assert decoder.text == decoder.trace().text


def test_an_interrupted_rewind_changes_nothing(llama, monkeypatch):
    lone = finished(Decoder(llama, PROMPT, sampling(0)), 8)
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 5)
    with monkeypatch.context() as patch:
        patch.setattr(Prefix, "rewind", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.rewind(1)
    assert_same_run(finished(decoder, 8), lone.token_ids, rows(lone), "after a failed rewind")


@pytest.mark.parametrize("prompt", [None, [1.5], torch.ones(1, 3, dtype=torch.long)])
def test_a_prompt_of_another_kind_is_explained(llama, prompt):
    with pytest.raises(PromptError, match="one row of token ids"):
        Decoder(llama, prompt)


def test_other_arguments_of_a_wrong_kind_are_explained(llama):
    with pytest.raises(SettingError, match="must be SamplingSettings"):
        Decoder(llama, PROMPT, {"temperature": 1})
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 2)
    for call in (lambda: decoder.rewind(1.0), lambda: decoder.logits("a")):
        with pytest.raises(SettingError):
            call()


@pytest.mark.parametrize("wrong", [-1, 10**9, 2.0, True, "3"])
def test_a_wrong_max_tokens_is_refused_at_once(llama, wrong):
    with pytest.raises(SettingError, match="max_new_tokens"):
        Decoder(llama, PROMPT).run(wrong)


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "llama", "mistral"])
def test_the_context_ends_a_run(architecture):
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


def test_a_longer_run_after_the_context_is_full_just_ends(llama):
    decoder = Decoder(llama, tiny_models.prompt(0, tiny_models.CONTEXT - 3), sampling(0))
    finished(decoder, 3)  # the limit and the end of the context fall on the same token
    assert decoder.stop_reason in ("max_tokens", "context") and decoder.tokens_left == 0
    assert list(decoder.run(4)) == [], "the end of the context ends a run, it does not fail it"


def test_prompts_up_to_the_context():
    model = LanguageModel(tiny_models.build("gpt2", n_positions=24))
    with pytest.raises(PromptError, match="shorten it by 1 tokens"):
        Decoder(model, tiny_models.prompt(0, 24))
    decoder = Decoder(model, tiny_models.prompt(0, 23), GREEDY)
    assert [step.stop_reason for step in decoder.run(10)] == ["context"]
    with pytest.raises(PromptError, match="no token"):
        Decoder(model, [])
    for outside in (-1, tiny_models.VOCAB):
        with pytest.raises(PromptError, match="ids 0 to 95"):
            Decoder(model, [1, outside])


@native_and_parity
@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_end_of_text_id_ends_a_run_and_is_a_step(count, parity):
    settings = sampling(4, parity=parity)
    free = finished(Decoder(tiny_models.shared("llama", 4), PROMPT, settings), TOKENS)
    later = list(dict.fromkeys(free.token_ids))[8:]  # ids in the order in which they first occur
    ends = sorted(later[:count])
    hf = tiny_models.build("llama", 4)
    hf.generation_config.eos_token_id = ends[0] if count == 1 else (ends or None)
    model = LanguageModel(hf)
    assert model.eos_ids == tuple(ends)

    decoder = Decoder(model, PROMPT, settings)
    steps = list(decoder.run(TOKENS))

    first = min((free.token_ids.index(token_id) for token_id in ends), default=TOKENS - 1)
    assert decoder.token_ids == free.token_ids[: first + 1], "the end is a step, then it is over"
    assert steps[-1].token_id == decoder.token_ids[-1]
    assert decoder.stop_reason == ("eos" if ends else "max_tokens")
    assert [step.stop_reason for step in steps[:-1]] == [None] * first
    if ends:
        assert list(decoder.run(TOKENS)) == [], "a finished text does not run on"
    if parity:
        limits = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1}
        ids, _ = generate(model, PROMPT, TOKENS, 4, pad_token_id=0, **limits)
        assert ids == decoder.token_ids


def test_the_end_of_text_goes_before_max_tokens_on_the_same_token(llama):
    free = finished(Decoder(llama, PROMPT, GREEDY), 10)
    llama.eos_ids = (free.token_ids[9],)
    first = free.token_ids.index(free.token_ids[9])
    decoder = Decoder(llama, PROMPT, GREEDY)
    list(decoder.run(first + 1))
    assert decoder.stop_reason == "eos"


def ends_of_text(decoder: Decoder) -> list[int]:
    """Length of the text after each step."""
    return np.cumsum([len(step.text) for step in decoder.steps]).tolist()


@pytest.mark.parametrize("seed", range(2))
def test_stop_strings_begin_and_end_inside_tokens(text_model, seed):
    free = finished(Decoder(text_model, "the cat", sampling(seed, top_k=0)), 60)
    text, ends = free.text, ends_of_text(free)
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(12):
        start = int(rng.integers(0, len(text) - 8))
        string = text[start : start + int(rng.integers(1, 8))]
        expected = next(i for i, end in enumerate(ends) if string in text[:end])

        decoder = Decoder(text_model, "the cat", sampling(seed, top_k=0), stop_strings=string)
        steps = list(decoder.run(60))

        assert len(steps) == expected + 1, f"{string!r} should stop at step {expected}"
        assert decoder.stop_reason == "stop_string" and steps[-1].stop_string == string
        assert all(step.stop_reason is None for step in steps[:-1])
        assert string in decoder.text, "the text keeps the stop string"


def force_text(model: LanguageModel, text: str, **arguments) -> Decoder:
    """A decoder forced to write `text`, until a stop string is found."""
    decoder = Decoder(model, "the", **arguments)
    for token_id in model.tokenizer(text)["input_ids"]:
        if decoder.step(token_id).stop_reason:
            break
    return decoder


@pytest.mark.parametrize(
    ("stops", "found", "text"),
    [
        (["dog", "cat sat"], "cat sat", " the cat sat"),
        (["t o", "sat on"], "sat on", " the cat sat on"),  # the one that begins first
        (["sat", "sa"], "sa", " the cat sat"),  # of two at one place the shorter
        (["e"], "e", " the"),
        (["nowhere"], None, " the cat sat on the mat"),
        ([], None, " the cat sat on the mat"),
        ("日本", "日本", "日本"),
    ],
)
def test_the_earliest_stop_string_wins_and_is_named(text_model, stops, found, text):
    whole = "日本語 the" if "日本" in stops else " the cat sat on the mat"
    decoder = force_text(text_model, whole, stop_strings=stops)
    assert decoder.text.startswith(text)
    assert decoder.stop_reason == ("stop_string" if found else None)
    assert decoder.steps[-1].stop_string == found


def test_a_stop_string_does_not_reach_back_into_the_prompt(text_model):
    decoder = Decoder(text_model, "the ca", stop_strings="cat")
    (t,) = text_model.tokenizer("t")["input_ids"]
    assert decoder.step(t).stop_reason is None


def test_rewinding_a_stopped_run_lets_it_go_on(text_model):
    decoder = force_text(text_model, " the cat sat on", stop_strings=["cat"])
    assert decoder.stop_reason == "stop_string"
    decoder.rewind(len(decoder.steps) - 1)
    assert decoder.stop_reason is None
    decoder.step(text_model.tokenizer("!")["input_ids"][0])
    assert decoder.stop_reason is None


@pytest.mark.parametrize("wrong", ["", ["a", ""], [3], [None]])
def test_wrong_stop_strings_are_refused(text_model, wrong):
    if wrong == "":
        wrong = [""]
    with pytest.raises(SettingError, match="stop_strings"):
        Decoder(text_model, "the", stop_strings=wrong)


# Text.


@pytest.mark.parametrize("seed", range(5))
def test_text_is_what_the_tokenizer_decodes(text_model, tokenizer, seed):
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


def test_characters_of_several_tokens_appear_when_they_are_whole(text_model):
    smile = "🙃"  # not in the training text, so it is split into bytes
    ids = text_model.tokenizer(smile)["input_ids"]
    assert len(ids) > 1
    decoder = Decoder(text_model, "the")
    texts = [decoder.step(token_id).text for token_id in ids]
    assert texts == [""] * (len(ids) - 1) + [smile]
    decoder.rewind(1)
    twin = decoder.fork()
    assert decoder.pending_bytes == twin.pending_bytes == decoder.steps[0].token_bytes
    for token_id in ids[1:]:
        twin.step(token_id)
    assert (decoder.text, twin.text) == ("", smile)


def test_special_tokens_are_steps_without_text(text_model, tokenizer):
    decoder = Decoder(text_model, "the")
    step = decoder.step(tokenizer.eos_token_id)
    assert step.is_special and step.text == "" and step.token_bytes == b"<|end|>"


def test_a_tokenizer_with_fewer_entries_than_outputs(tokenizer):
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


def test_a_tokenizer_with_more_entries_than_the_model(tokenizer):
    model = LanguageModel(tiny_models.build("llama", vocab_size=60), tokenizer)
    with pytest.raises(PromptError, match="ids 0 to 59"):
        Decoder(model, "the cat sat on the mat")
    with pytest.raises(TokenizerError, match="token ids"):
        Decoder(tiny_models.shared("llama"), "text without a tokenizer")


def test_a_saved_folder_runs_as_the_model_in_memory(text_hf, tokenizer, tmp_path):
    folder = tmp_path / "tiny"
    text_hf.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    model = load_model(folder, dtype="float32")
    decoder = Decoder(model, "the cat", GREEDY)
    list(decoder.run(TOKENS))

    assert (model.name, model.dtype, model.device.type) == ("tiny", torch.float32, "cpu")
    assert model.eos_ids == (tokenizer.eos_token_id,), "the tokenizer names the end of text"
    prompt_ids = tokenizer("the cat")["input_ids"]
    ids, logits = generate(model, prompt_ids, TOKENS, eos_token_id=model.eos_ids[0], pad_token_id=0)
    assert decoder.token_ids == ids
    np.testing.assert_allclose(rows(decoder), logits, atol=1e-4, rtol=0)
    bare = LanguageModel(text_hf)
    memory = finished(Decoder(bare, prompt_ids, GREEDY), len(ids))
    assert decoder.token_ids == memory.token_ids


# Forced tokens, changed settings, proposals.


@native_and_parity
def test_a_forced_token_is_recorded_as_such(llama, parity):
    decoder = Decoder(llama, PROMPT, SamplingSettings(top_k=1, seed=0, parity=parity))
    best = decoder.propose().token_id
    other = (best + 1) % tiny_models.VOCAB

    step = decoder.step(other)

    assert step.forced and step.token_id == other and step.u is None
    assert step.probability == 0, "top-k 1 had removed it"
    assert step.rank > 1 and step.logprob < 0 and step.logit == decoder.logits(0)[other]
    assert step.survivors == 1
    drawn = decoder.step()
    assert not drawn.forced and drawn.probability == 1
    ids = decoder.token_ids
    decoder.rewind(1)
    assert finished(decoder, 2).token_ids == ids
    for wrong in (-1, tiny_models.VOCAB, True):
        with pytest.raises(SettingError, match="token_id"):
            decoder.step(wrong)
    assert decoder.token_ids == ids


@native_and_parity
def test_forcing_the_token_that_would_be_drawn_changes_no_later_draw(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(6, parity=parity)), TOKENS)
    decoder = Decoder(llama, PROMPT, sampling(6, parity=parity))
    for i in range(TOKENS):
        step = decoder.step(lone.token_ids[i] if i in (0, 4, 5, 11) else None)
        assert step.token_id == lone.token_ids[i], "a forced token moved the random stream"
        assert step.forced == (i in (0, 4, 5, 11))
        assert step.probability == lone.steps[i].probability
    assert_same_run(decoder, lone.token_ids, rows(lone), "With four tokens forced")


@native_and_parity
def test_a_proposal_changes_nothing(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(7, parity=parity)), TOKENS)
    decoder = Decoder(llama, PROMPT, sampling(7, parity=parity))
    for i in range(TOKENS):
        proposals = {decoder.propose() for _ in range(1 + i % 3)}
        assert len(decoder.steps) == i
        step = decoder.step()
        assert {(drawn.token_id, drawn.probability) for drawn in proposals} == {
            (step.token_id, step.probability)
        }, "step appended another token than was proposed"
    assert_same_run(decoder, lone.token_ids, rows(lone), "Having proposed before every step")
    decoder.rewind(9)
    decoder.propose()
    assert_same_run(finished(decoder, TOKENS), lone.token_ids, rows(lone), "Rewound, proposed")


@native_and_parity
def test_settings_in_force_are_recorded(llama, parity):
    first, second = sampling(1, parity=parity), sampling(1, parity=parity, temperature=1.4)
    decoder = finished(Decoder(llama, PROMPT, first), 5)
    decoder.settings = GREEDY
    decoder.settings = second  # before any step with the one above, which leaves no mark
    finished(decoder, 12)
    decoder.settings = second

    trace = decoder.trace()
    assert trace.settings == ((0, first.to_dict()), (5, second.to_dict()))
    for step in decoder.steps:
        distribution = decoder.distribution(step.index)
        assert distribution.survivors == step.survivors
        assert distribution.probability(step.token_id) == step.probability, (
            f"step {step.index} is shown under other settings than it was drawn with"
        )
    decoder.rewind(3)
    assert decoder.settings == second, "rewinding does not turn the person's sliders"
    assert decoder.trace().settings == ((0, first.to_dict()), (3, second.to_dict()))
    decoder.rewind(0)
    assert decoder.trace().settings == ((0, second.to_dict()),)


def repeated(decoder: Decoder) -> Decoder:
    """A new decoder taken through the steps that the trace of another one records."""
    trace = decoder.trace()
    settings = {first: SamplingSettings.from_dict(values) for first, values in trace.settings}
    twin = Decoder(decoder.model, trace.prompt_ids, settings[0])
    for step in trace.steps:
        twin.settings = settings.get(step.index, twin.settings)
        twin.step(step.token_id if step.forced else None)
    return twin


@native_and_parity
def test_a_trace_says_enough_to_repeat_the_run(llama, parity):
    def now(seed: int, **changes: object) -> SamplingSettings:
        return sampling(seed, parity=parity, **changes)

    decoder = finished(Decoder(llama, PROMPT, now(1)), 8)
    decoder.settings = now(1, temperature=1.2)
    finished(decoder, 12)
    decoder.step(3)
    decoder.settings = now(2)
    finished(decoder, 20)
    decoder.settings = GREEDY
    finished(decoder, 24)
    decoder.settings = now(2)
    finished(decoder, TOKENS)
    twin = repeated(decoder)
    assert_same_run(twin, decoder.token_ids, rows(decoder), "Repeated from the trace")


@native_and_parity
@pytest.mark.parametrize("keep", [0, 5, 9, 10, 11])
def test_a_seed_changed_before_a_rewind_holds_after_it(llama, parity, keep):
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    decoder.settings = sampling(2, parity=parity)
    finished(decoder, 20)

    decoder.rewind(keep)
    finished(decoder, TOKENS)

    assert decoder.trace().settings[-1][1]["seed"] == 2
    twin = repeated(decoder)
    assert twin.token_ids == decoder.token_ids, (
        "the trace names seed 2, but the tokens after the rewind came from another stream"
    )


@pytest.mark.parametrize("keep", [0, 5, 10, 15])
def test_parity_switched_on_before_a_rewind_repeats(llama, keep):
    decoder = finished(Decoder(llama, PROMPT, sampling(1)), 10)
    decoder.settings = sampling(1, parity=True)
    finished(decoder, 20)
    decoder.rewind(keep)
    finished(decoder, TOKENS)
    assert repeated(decoder).token_ids == decoder.token_ids


@native_and_parity
def test_a_seed_changed_and_changed_back_between_steps_leaves_no_mark(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), TOKENS)
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    decoder.settings = sampling(2, parity=parity)
    decoder.propose()
    decoder.settings = sampling(1, parity=parity)
    finished(decoder, TOKENS)
    assert decoder.token_ids == lone.token_ids
    assert repeated(decoder).token_ids == decoder.token_ids


@native_and_parity
def test_a_fork_with_another_seed_parts_and_one_with_the_same_does_not(llama, parity):
    lone = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), TOKENS)
    decoder = finished(Decoder(llama, PROMPT, sampling(1, parity=parity)), 10)
    same, other = decoder.fork(), decoder.fork()
    other.settings = sampling(2, parity=parity)
    finished(other, TOKENS)
    assert other.token_ids[:10] == lone.token_ids[:10] and other.token_ids != lone.token_ids
    assert finished(same, TOKENS).token_ids == lone.token_ids
    assert finished(decoder, TOKENS).token_ids == lone.token_ids


def test_settings_that_do_not_fit_the_model_are_refused(llama):
    with pytest.raises(SettingError, match="top_k"):
        Decoder(llama, PROMPT, SamplingSettings(top_k=tiny_models.VOCAB + 1))
    decoder = finished(Decoder(llama, PROMPT), 3)
    with pytest.raises(SettingError, match="top_k"):
        decoder.settings = SamplingSettings(top_k=tiny_models.VOCAB + 1)
    assert decoder.settings == SamplingSettings()


def test_a_seed_is_chosen_and_recorded_where_none_is_given(llama):
    decoder = finished(Decoder(llama, PROMPT, SamplingSettings(seed=None)), 5)
    seed = decoder.settings.seed
    assert seed is not None
    decoder.settings = SamplingSettings(seed=None, temperature=0.5)
    assert decoder.settings.seed == seed, "a new temperature should not draw a new seed"
    again = finished(Decoder(llama, PROMPT, SamplingSettings(seed=seed)), 5)
    assert again.token_ids == decoder.token_ids


@pytest.mark.parametrize("wrong", [-1, 6, True])
def test_a_rewind_to_what_is_not_there_is_refused(llama, wrong):
    decoder = finished(Decoder(llama, PROMPT), 5)
    with pytest.raises(SettingError, match="use 0 to 5"):
        decoder.rewind(wrong)
    assert len(decoder.steps) == 5


# Failures, and going on after them.


@pytest.mark.parametrize(
    "config",
    [
        transformers.RecurrentGemmaConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=3,
            intermediate_size=48,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            lru_width=32,
            attention_window_size=16,
            block_types=("recurrent", "attention"),
        ),
        transformers.RwkvConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2),
        transformers.xLSTMConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_heads=2),
    ],
    ids=lambda config: config.model_type,
)
def test_models_that_keep_their_state_elsewhere_are_refused(config):
    # RecurrentGemma keeps it in its own layers, where decoders would overwrite each other's; RWKV
    # and xLSTM take it as an argument of their own, so that steps would not see the text before.
    with tiny_models.seeded(0):
        hf = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(ModelError):
        LanguageModel(hf)


@contextmanager
def broken(weight: torch.Tensor):
    """NaN in every place of a weight, mended afterwards."""
    kept = weight.data.clone()
    weight.data.fill_(torch.nan)
    yield
    weight.data.copy_(kept)


@native_and_parity
@pytest.mark.parametrize("part", ["head", "first layer"])
@pytest.mark.parametrize("architecture", ["llama", "jamba"])
def test_nan_logits_lose_nothing(architecture, part, parity):
    model = LanguageModel(tiny_models.build(architecture))
    lone = finished(Decoder(model, PROMPT, sampling(0, parity=parity)), TOKENS)
    decoder = finished(Decoder(model, PROMPT, sampling(0, parity=parity)), 10)
    layer = model.hf.model.layers[0].input_layernorm.weight
    weight = model.hf.get_output_embeddings().weight if part == "head" else layer

    for _ in range(2):
        with broken(weight):
            for _ in range(2):
                with pytest.raises(LogitsError, match="NaN"):
                    decoder.step()
            with pytest.raises(LogitsError, match="NaN"):
                decoder.propose()
        assert decoder.token_ids == lone.token_ids[: len(decoder.steps)], "text was lost"
        finished(decoder, len(decoder.steps) + 3)
    finished(decoder, TOKENS)

    assert_same_run(decoder, lone.token_ids, rows(lone), "After NaN logits")


@pytest.mark.parametrize("first", [True, False], ids=["in the prefill", "in a step"])
@pytest.mark.parametrize("architecture", ["llama", "mistral", "mamba", "falcon_h1"])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "after every layer ran"])
def test_running_out_of_memory_loses_nothing(monkeypatch, architecture, late, first):
    model = LanguageModel(tiny_models.build(architecture))
    lone = finished(Decoder(model, PROMPT, sampling(0)), TOKENS)
    decoder = finished(Decoder(model, PROMPT, sampling(0)), 0 if first else 10)

    def out_of_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("no memory left")

    place = model.hf.get_output_embeddings() if late else model.hf
    with monkeypatch.context() as patch:
        patch.setattr(place, "forward", out_of_memory)
        for _ in range(2):
            with pytest.raises(OutOfMemoryError, match="ran out of memory"):
                decoder.step()
    assert decoder.token_ids == lone.token_ids[: len(decoder.steps)]

    assert_same_run(finished(decoder, TOKENS), lone.token_ids, rows(lone), "Out of memory")


def test_another_failure_of_the_model_is_not_called_memory(llama, monkeypatch):
    decoder = finished(Decoder(llama, PROMPT, GREEDY), 3)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(llama.hf.get_output_embeddings(), "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decoder.step()
    lone = finished(Decoder(llama, PROMPT, GREEDY), 10)
    assert_same_run(finished(decoder, 10), lone.token_ids, rows(lone), "Interrupted")


def test_the_uniform_number_of_a_step_is_known_before_it_is_taken(llama):
    decoder = Decoder(llama, PROMPT, sampling(3))
    for index in range(4):
        u = decoder.uniform(index)
        assert decoder.step().u == u
    assert [decoder.uniform(index) for index in range(4)] == [step.u for step in decoder.steps]
    for index in (-1, 5, 1.0, True):
        with pytest.raises(SettingError, match="neither taken nor next"):
            decoder.uniform(index)


def test_a_pass_made_to_propose_counts_into_the_step(llama):
    decoder = Decoder(llama, PROMPT, sampling(3))
    decoder.propose()
    step = decoder.step()
    assert step.total_ms >= step.forward_ms + step.shape_ms + step.draw_ms
    assert step.is_prefill and step.forward_ms > 0
