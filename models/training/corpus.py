"""The corpus: documents in xz files, the overlap check, token files, and training windows."""

import hashlib
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

SEPARATOR = "<|endoftext|>"  # alone on a line between two documents
HELD_OUT = "valid_"  # prefix of the names of files that are never trained on


def training_shards(corpus: Path) -> list[Path]:
    """Return the folder's training files, by name."""
    return [path for path in _shards(corpus) if not path.name.startswith(HELD_OUT)]


def held_out_shards(corpus: Path) -> list[Path]:
    """Return the folder's validation files, by name."""
    return [path for path in _shards(corpus) if path.name.startswith(HELD_OUT)]


def _shards(corpus: Path) -> list[Path]:
    paths = sorted(corpus.glob("*.txt.xz"))
    if not paths:
        raise FileNotFoundError(f"corpus must hold *.txt.xz files, found none in {corpus}")
    return paths


def shard_name(path: Path) -> str:
    """Return the name of a shard: `stories_simple` for `.../stories_simple.txt.xz`."""
    return path.name.removesuffix(".txt.xz")


def documents(path: Path) -> Iterator[str]:
    """Yield the documents of one xz file, without surrounding blank lines."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines: list[str] = []
        for line in file:
            if line.rstrip("\n") == SEPARATOR:
                yield from _document(lines)
                lines = []
            else:
                lines.append(line)
        yield from _document(lines)


def _document(lines: list[str]) -> Iterator[str]:
    if text := "".join(lines).strip():
        yield text


# Overlap of training and validation


@dataclass(frozen=True)
class Overlap:
    """Overlap of one validation shard with the training shards.

    Attributes:
        documents: number of documents in the shard.
        repeated: numbers of the documents equal to a training document in letters and digits.
        mostly_repeated: numbers of those with more than half of their long paragraphs in training.
            A tale can be in a collection and also, passage by passage, in a set of questions.
    """

    documents: int
    repeated: frozenset[int]
    mostly_repeated: frozenset[int]

    @property
    def seen(self) -> frozenset[int]:
        return self.repeated | self.mostly_repeated


LONG_PARAGRAPH = 80  # letters and digits; shorter ones ("Once upon a time ...") repeat by chance


def measure_overlap(corpus: Path, ours: Iterable[str] = ()) -> dict[str, Overlap]:
    """Compare every validation document, and its long paragraphs, with all training documents.

    Args:
        corpus: the folder of shards.
        ours: training documents outside of these files.
    """
    held_out = {
        shard_name(path): [_fingerprints(text) for text in documents(path)]
        for path in held_out_shards(corpus)
    }
    wanted = {
        fingerprint
        for entries in held_out.values()
        for whole, paragraphs in entries
        for fingerprint in (whole, *paragraphs)
    }
    found: set[bytes] = set()
    for text in chain(*map(documents, training_shards(corpus)), ours):
        whole, paragraphs = _fingerprints(text)
        found.update(wanted.intersection((whole, *paragraphs)))
    return {
        shard: Overlap(
            len(entries),
            frozenset(n for n, (whole, _) in enumerate(entries) if whole in found),
            frozenset(
                n
                for n, (_, paragraphs) in enumerate(entries)
                if 2 * sum(p in found for p in paragraphs) > len(paragraphs)
            ),
        )
        for shard, entries in held_out.items()
    }


def _fingerprints(text: str) -> tuple[bytes, list[bytes]]:
    letters = [re.sub(r"[\W_]+", "", paragraph.lower()) for paragraph in text.split("\n")]
    long = [_hash(paragraph) for paragraph in letters if len(paragraph) >= LONG_PARAGRAPH]
    return _hash("document " + "".join(letters)), long


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


# Token files


def write_token_files(
    corpus: Path,
    folder: Path,
    encode: Callable[[Iterator[str]], np.ndarray],
    overlaps: Mapping[str, Overlap],
    ours: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, int]:
    """Encode every shard into `folder/<shard>.npy`; returns the token counts.

    Validation documents that training has seen are left out. `ours` adds our own shards: name ->
    documents.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = {shard_name(path): documents(path) for path in _shards(corpus)} | {
        name: iter(texts) for name, texts in (ours or {}).items()
    }
    counts = {}
    for name, texts in shards.items():
        seen = overlaps[name].seen if name in overlaps else frozenset()
        tokens = encode(text for n, text in enumerate(texts) if n not in seen)
        np.save(folder / f"{name}.npy", tokens)
        counts[name] = len(tokens)
    return counts


def read_token_files(folder: Path) -> dict[str, np.ndarray]:
    """Load all token files, memory-mapped: shard name -> (tokens,) uint16."""
    return {path.stem: np.load(path, mmap_mode="r") for path in sorted(folder.glob("*.npy"))}


class Windows:
    """Draws batches of training windows from a mix of shards.

    A batch is a pure function of the seed and the step, so resuming needs no stored data position.
    Windows may contain document borders, which the end-of-text token marks.

    Args:
        tokens: shard name -> (tokens,) uint16; token 0 opens each document.
        mix: shard name -> share of windows; normalised here.
        aligned_share: share of windows that start at a document. Half of these keep the end-of-text
            token, and half start at the first real token, because prompts occur both ways.
        seed: any non-negative number.
    """

    def __init__(
        self,
        tokens: Mapping[str, np.ndarray],
        mix: Mapping[str, float],
        aligned_share: float,
        seed: int,
    ):
        if missing := sorted(set(mix) - set(tokens)):
            raise ValueError(f"the mix names shards without token files: {', '.join(missing)}")
        self.shards = [tokens[name] for name in mix]
        self.starts = [np.flatnonzero(shard == 0) for shard in self.shards]
        shares = np.array(list(mix.values()))
        self.shares = shares / shares.sum()
        self.aligned_share = aligned_share
        self.seed = seed

    def batch(self, step: int, rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and next-token targets of one step, each (rows, length) int64."""
        generator = np.random.default_rng((self.seed, step))
        window = np.empty((rows, length + 1), dtype=np.int64)
        numbers = generator.choice(len(self.shards), rows, p=self.shares)
        kinds = generator.random(rows) / self.aligned_share
        places = generator.random(rows)
        for number in np.unique(numbers):
            shard, starts = self.shards[number], self.starts[number]
            here = numbers == number
            kind, place = kinds[here], places[here]
            aligned = starts[(place * len(starts)).astype(int)] + (kind < 0.5)
            first = np.where(kind < 1, aligned, (place * len(shard)).astype(int))
            # A window that reaches the end of the shard continues at its beginning.
            window[here] = shard.take(first[:, None] + np.arange(length + 1), mode="wrap")
        return window[:, :-1], window[:, 1:]
