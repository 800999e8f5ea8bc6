"""The whole evaluation: every part in turn, printed as Markdown and returned as plain values.

Tables go to standard output, progress to standard error, so that the tables can be kept alone.
"""

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path

import numpy as np

from engine.decoder import Decoder
from engine.model import load_diffusion_model
from engine.sampling import SamplingSettings
from models.training.corpus import HELD_OUT
from models.training.evaluation import likelihood, timing
from models.training.evaluation.diffusion_tables import diffusion_table
from models.training.evaluation.fact_tables import entropy_table, facts_table, verbatim_table
from models.training.evaluation.loading import (
    Target,
    load_for_generation,
    load_for_scoring,
    scorer,
    with_prefix,
)
from models.training.evaluation.markdown import code, counted, heading, table
from models.training.evaluation.text_tables import (
    acceptance_table,
    recitation_table,
    repetition_table,
    samples,
    write_texts,
)
from models.training.tokenizer import token_bytes

MODELS = ("target", "draft", "diffusion")
STORIES = "valid_stories"  # held out: base rate of recitation, gaps and passages
SEED = 0  # of the diffusion bound's masks


def evaluate(folder: Path, tokens: Mapping[str, np.ndarray]) -> dict:
    """Measure the exported models in `folder`, print the tables and return the figures.

    Args:
        folder: contains `target`, `draft` and `diffusion`; parts that need a missing model are left
            out and named.
        tokens: token files by shard name, from `corpus.read_token_files`; those named `valid_*` are
            held out, all others were trained on.

    Raises:
        FileNotFoundError: none of the models exists.
        ModelError: a model cannot be loaded.
    """
    found = {name: folder / name for name in MODELS if (folder / name / "config.json").exists()}
    if not found:
        raise FileNotFoundError(
            f"folder must hold one of {', '.join(MODELS)}, found none: {folder}"
        )
    absent = [name for name in MODELS if name not in found]
    if absent:
        print(f"Not measured, because it is not there: {', '.join(absent)}.")
    held_out = with_prefix(tokens, HELD_OUT)
    training = {name: row for name, row in tokens.items() if not name.startswith(HELD_OUT)}
    report: dict = {
        "weights": {name: _sha256(path / "model.safetensors") for name, path in found.items()},
        "absent": absent,
    }
    with _progress("likelihood"):
        report["likelihood"] = _likelihood(found, held_out)
    if "target" in found:
        target = Target.from_folder(found["target"])
        with _progress("facts"):
            report["facts"] = facts_table(target)
        with _progress("prompts in the training texts"):
            report["verbatim"] = verbatim_table(target, training)
        with _progress("entropy"):
            known = report["facts"]["recall"].values()
            missed = {prompt for row in known for prompt in row["without"]["missed"]}
            report["entropy"] = entropy_table(target, missed)
        with _progress("texts"):
            texts = write_texts(target.model)
        with _progress("repetition"):
            report["repetition"] = repetition_table(texts)
        with _progress("recitation"):
            report["recitation"] = recitation_table(target, texts, training, tokens.get(STORIES))
        if "draft" in found:
            with _progress("acceptance"):
                report["acceptance"] = acceptance_table(found["draft"], target.score, texts)
        if "diffusion" in found and STORIES in tokens:
            with _progress("diffusion"):
                report["diffusion"] = diffusion_table(found["diffusion"], target, tokens[STORIES])
    with _progress("timing"):
        report["timing"] = _timing(found)
    if "target" in found:
        with _progress("samples"):
            report["samples"] = samples(target.model)
    return _plain(report)


@contextmanager
def _progress(part: str) -> Iterator[None]:
    start = time.perf_counter()
    print(f"evaluate: {part} ...", file=sys.stderr, flush=True)
    yield
    sys.stdout.flush()
    seconds = time.perf_counter() - start
    print(f"evaluate: {part} took {seconds:.0f} s", file=sys.stderr, flush=True)


def _likelihood(found: Mapping[str, Path], held_out: Mapping[str, np.ndarray]) -> dict:
    """Compute bits per byte of every model on every validation shard."""
    report: dict = {}
    for name in ("target", "draft"):
        if name not in found:
            continue
        model = load_for_scoring(found[name])
        sizes = token_bytes(model.tokenizer)
        context = model.context_length
        report[name] = likelihood.held_out_bits(scorer(model), held_out, sizes, context)
        print(heading(f"Held out, bits per byte: {name}"))
        early = likelihood.EARLY
        head = ("held out", f"positions 1-{early}", f"{early + 1}-{context:,}", "all")
        rows = [(code(HELD_OUT + k), v.early, v.late, v.all) for k, v in report[name].items()]
        print(table(head, rows))
    if "diffusion" in found:
        model = load_diffusion_model(found["diffusion"], device="cpu", dtype="float32")
        report["diffusion"] = likelihood.diffusion_bound(
            model.logits,
            held_out,
            token_bytes(model.tokenizer),
            model.context_length,
            model.mask_id,
            seed=SEED,
        )
        print(heading("Held out, bits per byte: diffusion, an upper bound (arXiv:2502.09992)"))
        head = ("held out", f"positions 1-{model.context_length}, at most", "standard error")
        rows = [
            (code(HELD_OUT + k), v.bits, v.standard_error) for k, v in report["diffusion"].items()
        ]
        print(table(head, rows))
    return report


def _timing(found: Mapping[str, Path]) -> dict[str, timing.Timing]:
    """Measure loading time, step time and sizes of every model."""
    report = {}
    for name, folder in found.items():
        if name == "diffusion":
            model, load_s = timing.timed_load(_load_diffusion, folder)
            canvas = [model.mask_id] * timing.CONTEXT
            step_ms = timing.median_ms(lambda m=model, ids=canvas: m.logits(ids))
            kernels = "as PyTorch chooses"
        else:
            model, load_s = timing.timed_load(load_for_generation, folder)
            step_ms = _decode_step_ms(model)
            threads, onednn = model.kernels.threads, "with" if model.kernels.onednn else "without"
            used = counted(threads, "thread") if threads else "all threads"
            kernels = f"{used}, {onednn} oneDNN"
        weights, whole = timing.file_sizes(folder)
        dtype = str(model.dtype).removeprefix("torch.")
        report[name] = timing.Timing(
            load_s, step_ms, weights, whole, model.parameters, dtype, kernels
        )
    context = timing.CONTEXT
    print(heading(f"Time on this machine: {timing.machine()}"))
    head = (
        "",
        "parameters",
        "weights, MB",
        "folder, MB",
        "warm load, s",
        "step, ms",
        "dtype",
        "kernels of a step",
    )
    rows = [
        (
            name,
            row.parameters,
            row.weight_bytes / 1e6,
            row.folder_bytes / 1e6,
            row.load_s,
            row.step_ms,
            row.dtype,
            row.kernels,
        )
        for name, row in report.items()
    ]
    print(table(head, rows, digits=2))
    print(
        f"\nA step is one token at a context around {context}, or one pass over {context} masks "
        "(diffusion); median of several. A warm load is the second in a process."
    )
    return report


def _load_diffusion(folder: Path) -> object:
    return load_diffusion_model(folder, device="cpu")


def _decode_step_ms(model) -> float:
    """Return the median time of greedy steps around `timing.CONTEXT` tokens, prefill excluded."""
    first = timing.CONTEXT - timing.STEPS // 2
    prompt = np.random.default_rng(SEED).integers(2, model.vocab_size, first).tolist()
    decoder = Decoder(model, prompt, SamplingSettings(temperature=0.0))
    decoder.step()
    return timing.median_ms(decoder.step)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _plain(value: object, digits: int = 4) -> object:
    """Convert to values that JSON can hold: dataclasses to dictionaries, floats rounded."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry, digits) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, digits) for entry in value]
    return round(value, digits) if isinstance(value, float) else value
