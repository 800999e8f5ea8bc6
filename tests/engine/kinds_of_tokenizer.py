"""Tokenizers of every kind at toy size, trained on a few sentences in several scripts."""

import json

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from engine.model.vocabulary import Vocabulary

CORPUS = [
    "The cat sat on the mat, and the dog did not mind.",
    "Ein Hund läuft über die Straße; größer wird er nicht.",
    "日本語のテキスト、そして 中文 文本。",
    "مرحبا بالعالم, שלום עולם",
    "def f(x):\n\treturn x + 1  # 123",
]
BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("größer gleich", normalized=False)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


def sentencepiece(*, metaspace: bool) -> PreTrainedTokenizerFast:
    """Llama 2's layout: byte fallback, and ▁ for a space, by either Replace or Metaspace."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    else:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[*special, *BYTE_PIECES], show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # The trainer accepts byte pieces only as special tokens; in real files they are ordinary.
    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = described["added_tokens"][: len(special)]
    tokenizer = Tokenizer.from_str(json.dumps(described))
    space = decoders.Metaspace(prepend_scheme="first") if metaspace else decoders.Replace("▁", " ")
    tokenizer.decoder = decoders.Sequence(
        [
            space,
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 0 if metaspace else 1),
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def unigram(*, byte_fallback: bool) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<unk>", "</s>", *(BYTE_PIECES if byte_fallback else ())]
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = described["added_tokens"][:2]
    described["model"]["byte_fallback"] = byte_fallback
    tokenizer = Tokenizer.from_str(json.dumps(described))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>")


def whole(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    """A vocabulary of all the tokenizer's tokens."""
    return Vocabulary(tokenizer, len(tokenizer))
