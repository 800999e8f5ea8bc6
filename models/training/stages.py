"""The stages from a corpus folder to a measured export. Each looks for its own output first."""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from models.training import corpus, train
from models.training.evaluate import evaluate
from models.training.export import export, exported_step
from models.training.sizes import Size
from models.training.tokenizer import encode_documents, save_tokenizer, token_bytes, train_tokenizer


@dataclass(frozen=True)
class Workspace:
    """Where one run reads and writes.

    Attributes:
        size: the preset to train.
        corpus: folder of *.txt.xz; None is enough for the stages after `prepare`.
        runs: tokenizer, token files (shared by all sizes) and one folder of checkpoints a size.
        output: the exported model. A tokenizer found there is kept, because other bundled models
            share it; delete it to train a new one.
        device: "cpu" or "cuda".
        checkpoint: which one to export, "last" or "best".
    """

    size: Size
    corpus: Path | None
    runs: Path
    output: Path
    device: str
    checkpoint: str = "last"

    @property
    def tokenizer_folder(self) -> Path:
        return self.runs / "tokenizer"

    @property
    def token_folder(self) -> Path:
        return self.runs / "tokens"

    @property
    def checkpoints(self) -> Path:
        return self.runs / self.size.name

    def required_corpus(self) -> Path:
        if self.corpus is None:
            raise ValueError("--corpus must name the folder of *.txt.xz files for this stage")
        return self.corpus

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return AutoTokenizer.from_pretrained(self.tokenizer_folder)


def run_tokenizer(work: Workspace) -> None:
    """Train the shared tokenizer, or take the one that the output folder already has."""
    if (work.tokenizer_folder / "tokenizer.json").exists():
        print(f"tokenizer: {work.tokenizer_folder} is there")
        return
    if (work.output / "tokenizer.json").exists():
        work.tokenizer_folder.mkdir(parents=True)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(work.output / name, work.tokenizer_folder / name)
        print(f"tokenizer: taken from {work.output}")
        return
    started = time.perf_counter()
    save_tokenizer(train_tokenizer(work.required_corpus()), work.tokenizer_folder)
    print(f"tokenizer: trained in {time.perf_counter() - started:.0f} s")


def run_prepare(work: Workspace) -> None:
    """Check training against validation documents, then encode all shards."""
    summary = work.token_folder / "summary.json"
    fingerprint = sha256(work.tokenizer_folder / "tokenizer.json")
    if summary.exists() and json.loads(summary.read_text())["tokenizer"] == fingerprint:
        print(f"prepare: {work.token_folder} is there")
        return
    overlaps = corpus.measure_overlap(work.required_corpus())
    for shard, overlap in overlaps.items():
        print(
            f"overlap: {shard}: {overlap.documents} documents, {len(overlap.repeated)} also in"
            f" training, {len(overlap.mostly_repeated)} with most long paragraphs in training;"
            f" {len(overlap.seen)} left out"
        )
    encode = partial(encode_documents, work.tokenizer())
    counts = corpus.write_token_files(work.required_corpus(), work.token_folder, encode, overlaps)
    for shard, count in counts.items():
        print(f"prepare: {shard}: {count:,} tokens")
    summary.write_text(json.dumps({"tokenizer": fingerprint, "tokens": counts}, indent=1))


def run_train(work: Workspace, stop_after: int | None = None) -> None:
    """Train, or continue, until the budget of the recipe is spent."""
    checkpoint = work.checkpoints / "last.pt"
    if checkpoint.exists() and train.checkpoint_step(checkpoint) >= work.size.recipe.steps:
        print(f"train: {checkpoint} is there")
        return
    train.train(
        work.size,
        corpus.read_token_files(work.token_folder),
        token_bytes(work.tokenizer()),
        work.checkpoints,
        work.device,
        stop_after,
    )


def run_export(work: Workspace) -> None:
    """Replace the output folder by a checkpoint, unless it holds the same step."""
    checkpoint = work.checkpoints / f"{work.checkpoint}.pt"
    if exported_step(work.output) == train.checkpoint_step(checkpoint):
        print(f"export: {work.output} is there")
        return
    difference = export(checkpoint, work.tokenizer_folder, work.output)
    print(f"export: {work.output}, largest logit difference to training {difference:.3f}")
    for name in ("model.safetensors", "tokenizer.json"):
        path = work.output / name
        print(f"export: {name}: {path.stat().st_size:,} bytes, sha256 {sha256(path)}")


def run_evaluate(work: Workspace) -> None:
    """Measure the exported folder; the report goes to the screen and next to the checkpoints."""
    report_file = work.checkpoints / "evaluation.json"
    fingerprint = sha256(work.output / "model.safetensors")
    if report_file.exists() and json.loads(report_file.read_text())["weights"] == fingerprint:
        print(f"evaluate: {report_file} is there")
        return
    tokens = corpus.read_token_files(work.token_folder)
    report = {"weights": fingerprint, **evaluate(work.output, tokens)}
    report_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report))


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
