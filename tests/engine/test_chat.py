"""Chat templates: what a chat model is given to read, and how each failure is said."""

import pytest
import tokenizers
import transformers

from engine.decoder import Decoder
from engine.errors import PromptError, TokenizerError
from engine.model import LanguageModel
from engine.vocabulary import MAX_PROMPT_BYTES, Vocabulary
from tests.engine import tiny_models

SPECIAL = ["<s>", "<|end|>", "<|user|>", "<|reply|>"]
START, END, USER, REPLY = range(256, 260)
PLAIN = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|reply|>{% endif %}"
)
WITH_START = "{{ bos_token }}" + PLAIN


def tokenizer(template: object = None, *, adds_start: bool = True):
    """One token per byte; in front of plain text it puts a start of text, as Llama's does."""
    pieces = {
        piece: place
        for place, piece in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    }
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(pieces, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(SPECIAL)
    if adds_start:
        backend.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", START)]
        )
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="<|end|>"
    )
    made.chat_template = template
    return made


def vocabulary(template: object = None, **options) -> Vocabulary:
    return Vocabulary(tokenizer(template, **options), 260)


def fails(kind: type[Exception], template: object, message: str = "Hi") -> str:
    with pytest.raises(kind) as caught:
        vocabulary(template).chat_ids(message)
    said = str(caught.value)
    assert type(caught.value) is kind
    assert said.endswith(".") and "\n" not in said and ";" in said, f"no remedy: {said!r}"
    return said


def test_a_message_is_laid_out_up_to_where_the_model_answers():
    chat = vocabulary(PLAIN)
    assert chat.has_chat_template
    assert chat.chat("Hi") == "<|user|>Hi<|end|><|reply|>"
    ids = chat.chat_ids("Hi")
    assert ids == [USER, *Vocabulary(tokenizer(adds_start=False), 260).encode("Hi"), END, REPLY]
    assert [chat.is_special(token_id) for token_id in ids] == [True, False, False, True, True]


def test_the_start_of_text_is_there_once():
    chat = vocabulary(WITH_START)
    assert chat.encode("Hi")[0] == START, "in front of plain text the tokenizer puts it itself"
    assert chat.chat_ids("Hi").count(START) == 1
    assert START not in vocabulary(PLAIN).chat_ids("Hi"), "the template decides, not the tokenizer"


@pytest.mark.parametrize("template", [PLAIN, WITH_START, {"default": WITH_START, "rag": "x"}])
@pytest.mark.parametrize("message", ["Hi", "  two  spaces\n", "🙂 <|end|> {{ 7 * 7 }} {% if %}"])
def test_ids_are_those_of_transformers(template, message):
    expected = tokenizer(template).apply_chat_template(
        [{"role": "user", "content": message}], add_generation_prompt=True, return_dict=False
    )
    assert vocabulary(template).chat_ids(message) == expected


def test_a_message_is_text_and_no_template():
    assert "{{ 7 * 7 }}" in vocabulary(PLAIN).chat("{{ 7 * 7 }}")


def test_of_several_templates_the_default_is_taken():
    chat = vocabulary({"tool_use": "tools", "default": PLAIN})
    assert chat.has_chat_template
    assert chat.chat("Hi") == "<|user|>Hi<|end|><|reply|>"


@pytest.mark.parametrize("template", [None, "", {}, {"tool_use": PLAIN}])
def test_without_a_template(template):
    assert not vocabulary(template).has_chat_template
    assert "has no chat template" in fails(TokenizerError, template)


def test_without_a_tokenizer():
    bare = Vocabulary(None, 260)
    assert not bare.has_chat_template
    with pytest.raises(TokenizerError, match="no tokenizer"):
        bare.chat_ids("Hi")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('Only assistants may speak.') }}", "(Only assistants may speak)"),
        ("{{ raise_exception('one\ntwo') }}", "(one)"),
        ("{% if %}", "Expected an expression"),
        ("{% for message in messages %}", "Unexpected end of template"),
        ("{{ messages[7].content }}", "has no element 7"),
        ("{{ messages[0].content + 3 }}", "concatenate"),
        ("{{ 1 // 0 }}", "by zero"),
        ("{% include 'config.json' %}", "loader"),
        ("{{ 'x' * 10 ** 15 }}", "MemoryError"),
    ],
)
def test_a_template_that_fails_is_a_sentence(template, said):
    assert said in fails(TokenizerError, template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.__class__.__base__.__subclasses__() }}",
        "{{ raise_exception.__globals__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ messages.append(3) }}",
        "{{ '{0.__class__}'.format(messages) }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ self._TemplateReference__context }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(template):
    chat = vocabulary(template)
    try:
        shown = chat.chat("Hi")
    except TokenizerError:
        return
    assert "class" not in shown and "module" not in shown and "Context" not in shown, shown


@pytest.mark.parametrize("template", ["{{ '' }}", "{% if false %}x{% endif %}"])
def test_a_template_that_makes_nothing_of_a_message(template):
    assert "makes nothing of this message" in fails(TokenizerError, template)


def test_messages_that_are_no_prompt():
    assert "empty" in fails(PromptError, PLAIN, "")
    assert "bytes" in fails(PromptError, PLAIN, "x" * (MAX_PROMPT_BYTES + 1))
    assert "bytes" in fails(PromptError, "{{ messages[0].content * 5000 }}", "x" * 1000)


def test_a_lone_surrogate_is_replaced():
    assert vocabulary(PLAIN).chat("a\ud800b") == "<|user|>a?b<|end|><|reply|>"
    assert vocabulary("{{ '\ud800' }}x").chat_ids("Hi")


def test_a_decoder_starts_from_the_ids():
    hf = tiny_models.build("llama", seed=3, vocab_size=260)
    model = LanguageModel(hf, tokenizer(WITH_START), name="tiny chat model")
    ids = model.vocabulary.chat_ids("Hi")
    decoder = Decoder(model, ids)
    decoder.step()
    assert decoder.prompt_ids == ids and len(decoder.steps) == 1


def test_the_bundled_model_has_no_template(text_model):
    assert not text_model.vocabulary.has_chat_template
    assert text_model.tokenizer.chat_template is None
