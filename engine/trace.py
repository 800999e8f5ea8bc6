"""What was decoded, step by step, as plain values: to look at, to save, to load again.

A trace needs neither the model nor torch. It is self-contained: model, prompt, settings with the
step from which each applied, and every step. Saved as JSON or Parquet, by the file's ending.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import TraceError

if TYPE_CHECKING:
    import pandas

FORMAT = "decoding-trace"
VERSION = 1
MAX_FILE_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class StageSummary:
    """What one stage did in one step.

    Attributes:
        name: the stage's setting, e.g. ``top_p``.
        survivors: tokens left after it.
        mass_removed: share of the probability just before it that it removed, 0 to 1.
    """

    name: str
    survivors: int
    mass_removed: float


@dataclass(frozen=True, slots=True)
class Guidance:
    """Classifier-free guidance of a run (see `engine.guidance`).

    Attributes:
        scale: of the next step, above 1 towards the prompt, below 1 towards the negative prompt;
            every step holds the one that it was taken with.
        negative_prompt_ids: token ids of the negative prompt.
        negative_prompt: that as text.
    """

    scale: float
    negative_prompt_ids: tuple[int, ...]
    negative_prompt: str

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Guidance:
        """The inverse of `asdict`; raises `TraceError` on anything missing or of a wrong type."""
        values = _checked(cls, data)
        ids = tuple(_of_type(int, token_id) for token_id in values["negative_prompt_ids"])
        return cls(**values | {"negative_prompt_ids": ids})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of generation: the logits, what the chain made of them, the token, the cost.

    Attributes:
        index: 0 for the first generated token.
        token_id: the token appended.
        token_bytes: its bytes; a special token's name.
        text: text that this token completed; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        forced: whether a person chose it.
        u: uniform number of the draw, 0 <= u < 1; None when greedy, forced or in parity mode.
        rank: place among the raw logits, 1 for the highest.
        logit: raw logit.
        logprob: natural logarithm of its raw probability (temperature 1, nothing cut or penalised).
        probability: its probability in the draw; 0 for a forced token that had been removed.
        entropy_bits: entropy after the temperature stage, or without one before the cuts; 0 if
            greedy.
        model_entropy_bits: entropy of the raw distribution (temperature 1).
        survivors: tokens left in the draw.
        stages: what each stage did, in order.
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether the prompt was read, as in the first step or where a cache that had been
            given back was rebuilt; `forward_ms` then holds all passes of that.
        reused: whether the logits came from the record (after a rewind), without a forward pass.
        cache_positions: positions that the cache has seen.
        cache_bytes: bytes of the cached values.
        cache_bytes_held: memory kept for them (see `engine.cache.CacheSize`).
        forward_ms: forward pass, wall time in milliseconds; 0 if reused.
        shape_ms: the chain and its figures.
        draw_ms: the draw.
        total_ms: all of it, with bookkeeping.
        xtc_uniform: the step's number for XTC, 0 <= u < 1; None where XTC is not in the chain.
        mirostat_mu: Mirostat's bound on the surprise before the step, in bits; None without it.
        negative_forward_ms: the share of `forward_ms` that the negative prompt's pass took; None
            without guidance and if reused.
        negative_cache_bytes: the share of `cache_bytes` that the negative prompt's text has; None
            without guidance.
        guidance_scale: scale of the guidance; None without it.
        final_entropy_bits: entropy of the distribution that the token was drawn from, after all
            cuts; None in traces from before this was recorded.
    """

    index: int
    token_id: int
    token_bytes: bytes
    text: str
    is_special: bool
    forced: bool
    u: float | None
    rank: int
    logit: float
    logprob: float
    probability: float
    entropy_bits: float
    model_entropy_bits: float
    survivors: int
    stages: tuple[StageSummary, ...]
    stop_reason: str | None
    stop_string: str | None
    is_prefill: bool
    reused: bool
    cache_positions: int
    cache_bytes: int
    cache_bytes_held: int
    forward_ms: float
    shape_ms: float
    draw_ms: float
    total_ms: float
    xtc_uniform: float | None = None
    mirostat_mu: float | None = None
    negative_forward_ms: float | None = None
    negative_cache_bytes: int | None = None
    guidance_scale: float | None = None
    final_entropy_bits: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes as hexadecimal text."""
        data = asdict(self)
        data["token_bytes"] = self.token_bytes.hex()
        data["stages"] = [asdict(stage) for stage in self.stages]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Step:
        """The inverse of `to_dict`; raises `TraceError` on anything missing or of a wrong type."""
        values = _checked(cls, data)
        try:
            values["token_bytes"] = bytes.fromhex(values["token_bytes"])
        except ValueError as error:
            raise TraceError(f"token_bytes of a step is no hexadecimal text: {error}.") from error
        stages = (_checked(StageSummary, stage) for stage in values["stages"])
        values["stages"] = tuple(StageSummary(**stage) for stage in stages)
        return cls(**values)


_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
    "bytes": (str,),
    "tuple[StageSummary, ...]": (list,),
    "tuple[int, ...]": (list,),
}


def _checked(kind: type, data: Any) -> dict[str, Any]:
    """The fields of a dataclass out of `data`, each of the type that the dataclass declares."""
    if not isinstance(data, dict):
        raise TraceError(f"A {kind.__name__} must be an object, got {type(data).__name__}.")
    values = {}
    for item in fields(kind):
        if item.name not in data and item.default is not MISSING:
            continue  # written before there was such a field
        if item.name not in data:
            raise TraceError(f"A {kind.__name__} lacks {item.name}.")
        value = data[item.name]
        declared = item.type.removesuffix(" | None")
        optional = declared != item.type
        allowed = _KINDS[declared]
        wrong = not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)
        if not (optional and value is None) and (wrong or _not_finite(value)):
            raise TraceError(f"{item.name} of a {kind.__name__} must be {declared}, got {value!r}.")
        values[item.name] = value
    return values


def _of_type(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.80} where {kind.__name__} was expected")
    return value


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


@dataclass(frozen=True)
class Trace:
    """A whole run.

    Attributes:
        model: what was stepped: name, source, revision, dtype, device, vocab_size, parameters,
            tokenizer_hash, versions of torch and transformers; on a CPU its kernels, threads and
            instructions (see `engine.model.LanguageModel.facts`).
        prompt_ids: token ids of the prompt.
        prompt: the prompt as text.
        settings: (first step, settings as plain values), in order; each holds until the next.
        stop_strings: texts that end generation.
        steps: every step.
        guidance: what guided it; None without guidance.
    """

    model: dict[str, Any]
    prompt_ids: tuple[int, ...]
    prompt: str
    settings: tuple[tuple[int, dict[str, Any]], ...] = ()
    stop_strings: tuple[str, ...] = ()
    steps: tuple[Step, ...] = field(default=())
    guidance: Guidance | None = None

    @property
    def text(self) -> str:
        """The generated text."""
        return "".join(step.text for step in self.steps)

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return [step.token_id for step in self.steps]

    @property
    def stop_reason(self) -> str | None:
        """Why generation ended, None where it did not."""
        return self.steps[-1].stop_reason if self.steps else None

    def to_frame(self) -> pandas.DataFrame:
        """One row per step; a stage adds ``survivors_after_`` and ``mass_removed_by_`` columns."""
        import pandas as pd

        rows = []
        for step in self.steps:
            row = asdict(step)
            for stage in row.pop("stages"):
                row[f"survivors_after_{stage['name']}"] = stage["survivors"]
                row[f"mass_removed_by_{stage['name']}"] = stage["mass_removed"]
            rows.append(row)
        names = [item.name for item in fields(Step) if item.name != "stages"]
        return pd.DataFrame(rows, columns=None if rows else names)

    def to_json(self) -> str:
        """The text of a JSON file; `save` writes the same.

        Raises:
            TraceError: a value that no file can keep, such as NaN.
        """
        try:
            return json.dumps(self.to_dict(), allow_nan=False, separators=(",", ":"))
        except (ValueError, TypeError) as error:
            raise TraceError(f"The trace holds what no file can keep: {error}.") from error

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return self._header() | {"steps": [step.to_dict() for step in self.steps]}

    def _header(self) -> dict[str, Any]:
        header = {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "prompt": self.prompt,
            "prompt_ids": list(self.prompt_ids),
            "settings": [[first, values] for first, values in self.settings],
            "stop_strings": list(self.stop_strings),
        }
        if self.guidance is not None:
            ids = list(self.guidance.negative_prompt_ids)
            header["guidance"] = asdict(self.guidance) | {"negative_prompt_ids": ids}
        return header

    @classmethod
    def from_dict(cls, data: Any) -> Trace:
        """The inverse of `to_dict`.

        Raises:
            TraceError: not a trace, a newer version, or a field missing or of a wrong type.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TraceError("This is no decoding trace; choose a file saved by this app.")
        if data.get("version") != VERSION:
            raise TraceError(
                f"This trace has format version {data.get('version')!r}, this app reads {VERSION}; "
                "update the app or save the trace again."
            )
        try:
            settings = (
                (_of_type(int, first), _of_type(dict, values))
                for first, values in _of_type(list, data["settings"])
            )
            trace = cls(
                model=_of_type(dict, data["model"]),
                prompt_ids=tuple(_of_type(int, n) for n in _of_type(list, data["prompt_ids"])),
                prompt=_of_type(str, data["prompt"]),
                settings=tuple(settings),
                stop_strings=tuple(_of_type(str, s) for s in _of_type(list, data["stop_strings"])),
                steps=tuple(Step.from_dict(step) for step in _of_type(list, data["steps"])),
                guidance=Guidance.from_dict(data["guidance"]) if "guidance" in data else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"The trace is damaged ({error!r}); save it again.") from error
        for place, step in enumerate(trace.steps):
            if step.index != place:
                raise TraceError(f"Step {place} of the trace says that it is step {step.index}.")
        return trace

    def save(self, path: str | Path) -> Path:
        """Write the trace as ``.json`` or ``.parquet``; an existing file is replaced at once.

        Raises:
            TraceError: another ending, or the file cannot be written.
        """
        path = Path(path)
        writers = {".json": self._json_bytes, ".parquet": self._parquet_bytes}
        if path.suffix not in writers:
            raise TraceError(f"{path.name} must end in .json or .parquet.")
        try:
            data = writers[path.suffix]()
        except (ValueError, TypeError, OverflowError) as error:
            raise TraceError(f"The trace holds what no file can keep: {error}.") from error
        try:
            _replace_file(path, data)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            reason = getattr(error, "strerror", None) or error
            raise TraceError(f"{path.name} cannot be written: {reason}.") from error
        return path

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace saved by `save`.

        Raises:
            TraceError: not a trace, a damaged one, or one above 64 MiB.
        """
        path = Path(path)
        try:
            size = path.stat().st_size
            if size > MAX_FILE_BYTES:
                raise TraceError(
                    f"{path.name} has {size:,} bytes, more than the {MAX_FILE_BYTES:,} of any "
                    "trace."
                )
            data = path.read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise TraceError(f"{path.name} cannot be read: {reason}.") from error
        plain = _from_parquet(data) if path.suffix == ".parquet" else _from_json(data)
        return cls.from_dict(plain)

    def _json_bytes(self) -> bytes:
        return self.to_json().encode()

    def _parquet_bytes(self) -> bytes:
        import pyarrow as pa
        import pyarrow.parquet as pq

        steps = self.to_dict()["steps"]
        json.dumps(steps, allow_nan=False)  # what JSON refuses would not load again either
        table = pa.Table.from_pylist(steps)
        table = table.replace_schema_metadata({FORMAT: json.dumps(self._header(), allow_nan=False)})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        return sink.getvalue().to_pybytes()


def _replace_file(path: Path, data: bytes) -> None:
    """Write beside the target and rename, so that a full disk leaves the old file as it was."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            os.chmod(new.name, 0o666 & ~_umask())  # as any other new file, not private
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
            os.replace(new.name, path)
        except BaseException:
            os.unlink(new.name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _from_json(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"The trace is no valid JSON ({error}); save it again.") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return data


def _from_parquet(data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        header = (file.schema_arrow.metadata or {}).get(FORMAT.encode())
        steps: list[dict[str, Any]] = []
        unpacked = 0
        # Few rows at a time: equal values take no space in the file, so only unpacking shows how
        # much there is.
        for batch in file.iter_batches(batch_size=16):
            unpacked += batch.nbytes
            if unpacked > MAX_FILE_BYTES:
                raise TraceError(f"The trace unpacks to more than {MAX_FILE_BYTES:,} bytes.")
            steps += batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:  # Arrow reports damage as OSError too
        raise TraceError(f"The trace is no readable Parquet file ({error}).") from error
    if header is None:
        raise TraceError("This is no decoding trace; choose a file saved by this app.")
    plain = _from_json(header)
    return plain | {"steps": steps} if isinstance(plain, dict) else plain
