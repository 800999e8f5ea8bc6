"""The stages from a corpus folder to measured exports. Each first looks for existing output."""

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from models.training import corpus, train
from models.training.curves import draw_curves
from models.training.evaluation import evaluate
from models.training.evaluation.facts import check_unseen
from models.training.export import LOG, WEIGHTS, export, exported_tokens, exported_weights
from models.training.own_texts import own_texts
from models.training.sizes import Plan
from models.training.tokenizer import encode_documents, save_tokenizer, token_bytes, train_tokenizer


@dataclass(frozen=True)
class Workspace:
    """Models, folders and options of one run.

    Attributes:
        size: name of the size; checkpoints of a model are in `runs/<size>/<model>`.
        plans: all models of the size, by name.
        chosen: the models to train and export now.
        corpus: folder of *.txt.xz; None is enough for the stages after `prepare`.
        runs: tokenizer and token files, shared by all sizes, and the checkpoints.
        output: receives one folder per model. A tokenizer found in its `target` is kept, because
            the models share it; delete it to train a new one.
        device: "cpu" or "cuda".
        checkpoint: the checkpoint to export, "last" or "best".
        start_from: a folder of exported weights to start from, instead of random ones.
    """

    size: str
    plans: Mapping[str, Plan]
    chosen: tuple[str, ...]
    corpus: Path | None
    runs: Path
    output: Path
    device: str
    checkpoint: str = "last"
    start_from: Path | None = None

    @property
    def tokenizer_folder(self) -> Path:
        return self.runs / "tokenizer"

    @property
    def token_folder(self) -> Path:
        return self.runs / "tokens"

    def checkpoints(self, model: str) -> Path:
        return self.runs / self.size / model

    def required_corpus(self) -> Path:
        if self.corpus is None:
            raise ValueError("--corpus must name the folder of *.txt.xz files for this stage")
        return self.corpus

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return AutoTokenizer.from_pretrained(self.tokenizer_folder)

    def start(self, plan: Plan) -> tuple[dict[str, Tensor], int] | None:
        """Return initial weights and the tokens they have read, or None to start at random."""
        folder = self.start_from
        if folder is None and plan.recipe.start_from:
            folder = self.output / plan.recipe.start_from
        if folder is None:
            return None
        if not (folder / WEIGHTS).exists():
            raise FileNotFoundError(
                f"{plan.name} starts from the weights in {folder}, which has none: train and"
                f" export that model first"
            )
        return exported_weights(folder), exported_tokens(folder)


def run_tokenizer(work: Workspace) -> None:
    """Train the shared tokenizer, or take the one already in the output folder."""
    if (work.tokenizer_folder / "tokenizer.json").exists():
        print(f"tokenizer: {work.tokenizer_folder} is there")
        return
    kept = work.output / "target"
    if (kept / "tokenizer.json").exists():
        work.tokenizer_folder.mkdir(parents=True)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(kept / name, work.tokenizer_folder / name)
        print(f"tokenizer: taken from {kept}")
        return
    started = time.perf_counter()
    save_tokenizer(train_tokenizer(work.required_corpus()), work.tokenizer_folder)
    print(f"tokenizer: trained in {time.perf_counter() - started:.0f} s")


def run_prepare(work: Workspace) -> None:
    """Check training against validation documents, then encode all shards and our own texts."""
    summary = work.token_folder / "summary.json"
    ours = own_texts()
    check_unseen(chain(*ours.values()))
    fingerprints = {
        "tokenizer": sha256(work.tokenizer_folder / "tokenizer.json"),
        "own texts": hashlib.sha256("\n".join(chain(*ours.values())).encode()).hexdigest(),
    }
    if summary.exists() and fingerprints.items() <= json.loads(summary.read_text()).items():
        print(f"prepare: {work.token_folder} is there")
        return
    overlaps = corpus.measure_overlap(work.required_corpus(), chain(*ours.values()))
    for shard, overlap in overlaps.items():
        print(
            f"overlap: {shard}: {overlap.documents} documents, {len(overlap.repeated)} also in"
            f" training, {len(overlap.mostly_repeated)} with most long paragraphs in training;"
            f" {len(overlap.seen)} left out"
        )
    encode = partial(encode_documents, work.tokenizer())
    counts = corpus.write_token_files(
        work.required_corpus(), work.token_folder, encode, overlaps, ours
    )
    for shard, count in counts.items():
        print(f"prepare: {shard}: {count:,} tokens")
    summary.write_text(json.dumps({**fingerprints, "tokens": counts}, indent=1))


def run_train(work: Workspace, stop_after: int | None = None) -> None:
    """Train, or continue, each chosen model until its budget is spent, and export it.

    Training and export belong together, because a later model may start from an earlier export.
    """
    for name in work.chosen:
        plan = work.plans[name]
        checkpoint = work.checkpoints(name) / "last.pt"
        if checkpoint.exists() and train.checkpoint_step(checkpoint) >= plan.recipe.steps:
            print(f"train: {checkpoint} is there")
        else:
            train.train(
                plan,
                corpus.read_token_files(work.token_folder),
                token_bytes(work.tokenizer()),
                work.checkpoints(name),
                work.device,
                stop_after,
                None if checkpoint.exists() else work.start(plan),
            )
        if train.checkpoint_step(checkpoint) >= plan.recipe.steps:
            run_export(work, name)


def run_export(work: Workspace, name: str) -> None:
    """Replace a model's folder by a checkpoint, unless it contains the same one."""
    folder = work.checkpoints(name)
    checkpoint = folder / f"{work.checkpoint}.pt"
    output = work.output / name
    if (output / WEIGHTS).exists() and exported_tokens(output) == train.checkpoint_tokens(
        checkpoint
    ):
        print(f"export: {output} is there")
        return
    difference = export(checkpoint, folder / LOG, work.tokenizer_folder, output)
    print(f"export: {output}, largest logit difference to training {difference:.3f}")
    for file in (WEIGHTS, "tokenizer.json"):
        path = output / file
        print(f"export: {file}: {path.stat().st_size:,} bytes, sha256 {sha256(path)}")


def run_evaluate(work: Workspace) -> None:
    """Measure the exported folders: tables, a picture of the losses, a JSON file and line."""
    picture = work.output / "training-loss.png"
    draw_curves({name: work.output / name / LOG for name in work.plans}, picture)
    print(f"evaluate: {picture}")
    tokens = corpus.read_token_files(work.token_folder)
    report = evaluate(work.output, tokens)
    text = json.dumps(report, ensure_ascii=False)
    (work.output / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def sha256(path: Path) -> str:
    """Compute the hexadecimal SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
