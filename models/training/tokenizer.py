"""The byte-level BPE tokenizer that all bundled models share.

Byte-level BPE (Radford et al. 2019, GPT-2): text becomes UTF-8 bytes, each byte one of 256
printable stand-ins, and frequent neighbours are merged until the vocabulary is full. Every byte is
in the vocabulary, so any text can be encoded, and decoding restores it exactly.
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from models.training.corpus import SEPARATOR, documents, training_shards
from models.training.sizes import VOCABULARY_SIZE

END_OF_TEXT = SEPARATOR  # also opens a document, and serves as transformers' bos token
PAD = "<|pad|>"
MASK = "<|mask|>"  # added as the last id in models that fill masked places
END_OF_TEXT_ID, PAD_ID = 0, 1

# GPT-2's split into words, except that every digit is a separate token: " 1945" is " 1", "9", "4",
# "5", so numbers of any length are spelled alike.
WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

SAMPLE_CHARACTERS = 4_000_000  # per shard: large shards must not crowd out small ones


def train_tokenizer(corpus: Path, seed: int = 1) -> PreTrainedTokenizerFast:
    """Train on up to `SAMPLE_CHARACTERS` of every training shard in the folder `corpus`."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[END_OF_TEXT, PAD],  # in this order: ids 0 and 1
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_balanced_sample(corpus, seed), trainer=trainer)
    assert bpe.get_vocab_size() == VOCABULARY_SIZE, "the corpus is too small for the vocabulary"
    assert bpe.token_to_id(END_OF_TEXT) == END_OF_TEXT_ID and bpe.token_to_id(PAD) == PAD_ID
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        pad_token=PAD,
        clean_up_tokenization_spaces=False,  # it would delete spaces before punctuation
        model_max_length=1024,
    )


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json` for `AutoTokenizer.from_pretrained`."""
    tokenizer.save_pretrained(folder)
    # transformers 5 writes its own class name; version 4 also understands this one.
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    file.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _balanced_sample(corpus: Path, seed: int) -> Iterator[str]:
    for number, shard in enumerate(training_shards(corpus)):
        texts = list(documents(shard))
        characters = 0
        for index in np.random.default_rng((seed, number)).permutation(len(texts)):
            if characters >= SAMPLE_CHARACTERS:
                break
            characters += len(texts[index])
            yield texts[index]


def token_bytes(tokenizer: PreTrainedTokenizerFast) -> np.ndarray:
    """Return the bytes of each token's text, (vocab,) int64; zero for the two special tokens."""
    # A byte-level token is written with one stand-in character per byte.
    lengths = np.zeros(len(tokenizer), dtype=np.int64)
    for token, index in tokenizer.get_vocab().items():
        if index not in (END_OF_TEXT_ID, PAD_ID):
            lengths[index] = len(token)
    return lengths


def encode_documents(
    tokenizer: PreTrainedTokenizerFast, texts: Iterator[str], batch: int = 1024
) -> np.ndarray:
    """Encode all documents in one row, each after an end-of-text token, (tokens,) uint16."""
    pieces: list[np.ndarray] = []
    while group := list(islice(texts, batch)):
        for encoding in tokenizer.backend_tokenizer.encode_batch_fast(group):
            pieces.append(np.array([END_OF_TEXT_ID, *encoding.ids], dtype=np.uint16))
    return np.concatenate(pieces)
