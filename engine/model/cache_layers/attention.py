"""Tensors that an attention layer keeps: keys and values, a latent, an indexer's keys.

Names of fields are those of transformers 5.23; tests compare every rule with real caches.
"""

from __future__ import annotations

from engine.cache_formula import (
    ALL,
    Kept,
    Last,
    Layer,
    Number,
    Once,
    OneIn,
    RestOf,
    Span,
    keys_and_values,
)
from engine.errors import msg
from engine.model.cache_layers.fields import Fields

FULL, SLIDING = msg("full attention"), msg("sliding-window attention")
CHUNKED, LATENT = msg("chunked attention"), msg("latent attention (MLA)")
_ONE_INDEXER = Number(1, msg("indexer head"), "1", msg("fixed: all queries share one"))


def window_of(fields: Fields, *names: str) -> Last:
    """Return the window of last positions whose size one of the fields gives."""
    return Last(fields.number(msg("positions of the window"), "W", *names))


def attention(fields: Fields, kind: str, span: Span = ALL) -> Layer:
    """Return an attention layer, with grouped queries or with a latent."""
    if is_latent(fields):
        named = LATENT if kind == FULL else f"{kind}, {LATENT}"
        return Layer(named, latent(fields, span))
    return Layer(kind, keys_and_values(kv_heads(fields, span), *head_sizes(fields, span), span))


def is_latent(fields: Fields) -> bool:
    """Return whether one compressed vector replaces the keys and values of all heads (MLA).

    DeepSeek-AI 2024, DeepSeek-V2, arXiv:2405.04434.
    """
    return fields.has("kv_lora_rank") and fields.has("qk_rope_head_dim")


def latent(fields: Fields, span: Span = ALL) -> tuple[Kept, ...]:
    """Return the latent and the rotary part of the key; all heads share both."""
    rank = fields.number(msg("values"), "r", "kv_lora_rank")
    rotary = fields.number(msg("values"), "d_R", "qk_rope_head_dim")
    return Kept("latent", (rank,), span), Kept("rotary key", (rotary,), span)


def kv_heads(fields: Fields, span: Span = ALL) -> Number:
    """Return the number of heads with their own keys and values.

    Ainslie et al. 2023, GQA, arXiv:2305.13245; Shazeer 2019 for a single one, arXiv:1911.02150.
    """
    if fields.plain("multi_query") and not fields.plain("new_decoder_architecture"):
        return Number(1, msg("KV heads"), "h", msg("multi_query: one for all queries"))
    if fields.has("num_kv_heads") and fields.plain("new_decoder_architecture") is False:
        return fields.number(msg("KV heads"), "h", "num_attention_heads")
    nested = Fields(fields.plain("attn_config"))
    if nested.has("kv_n_heads"):
        return nested.number(msg("KV heads"), "h", "kv_n_heads")
    if fields.plain("model_type") == "mimo_v2_flash" and isinstance(span, Last):
        few = fields.number(msg("KV heads"), "h", "num_key_value_heads")
        return Number(2 * few.value, few.words, few.symbol, f"2 x {few.source} in a window")
    own = ("swa_num_key_value_heads",) if isinstance(span, Last) else ()
    names = (*own, "num_key_value_heads", "num_kv_heads", "num_attention_heads", "n_head")
    return fields.number(msg("KV heads"), "h", *names)


def head_sizes(fields: Fields, span: Span = ALL) -> tuple[Number, Number]:
    """Return the sizes of one head's key and value at one position."""
    own = ("swa_head_dim",) if isinstance(span, Last) else ()
    names = (*own, "head_dim", "kv_channels", "attention_head_dim")
    found = next((name for name in names if fields.has(name)), None)
    if found is not None:
        key = fields.number(msg("per head"), "d", found)
    else:
        hidden = fields.number(msg("hidden size"), "d_model", "hidden_size", "n_embd", "d_model")
        heads = fields.number(msg("heads"), "H", "num_attention_heads", "n_head", "num_heads")
        source = f"{hidden.source} / {heads.source}"
        key = Number(hidden.value // heads.value, msg("per head"), "d", source)
    if not fields.has("v_head_dim"):
        return key, key
    return key, fields.number(msg("per value head"), "d_v", "v_head_dim")


def indexed(fields: Fields, place: int) -> Layer:
    """Return a sparse-attention layer: keys, values, and the keys of its position indexer.

    DeepSeek-AI 2025, DeepSeek-V3.2. Layers that use another layer's indexer keep no indexer keys.
    """
    plain = attention(fields, FULL)
    types = fields.plain("indexer_types")
    if types is not None and types[place] == "shared":
        return Layer(f"{plain.kind}, another layer's indexer", plain.kept)
    size = fields.number(msg("per indexer key"), "d_I", "index_head_dim", "indexer_head_dim")
    # One architecture gives its indexer embeddings in float32.
    dtype = "float32" if fields.plain("model_type") == "dots3_note_text" else ""
    kept = (*plain.kept, Kept("indexer keys", (_ONE_INDEXER, size), ALL, dtype))
    if fields.has("indexer_compress_ratio"):
        axes = Number(3, msg("position numbers"), "3", msg("fixed: time, height and width"))
        kept += (Kept("positions of the indexer", (axes,), ALL, "int64"),)
    return Layer(f"{plain.kind} with an indexer", kept)


def block_sparse(fields: Fields) -> Layer:
    """Return a layer of MiniMax M3: attention to blocks selected by one index key per position."""
    size = fields.number(msg("per index key"), "d_I", "index_head_dim")
    kept = (*attention(fields, FULL).kept, Kept("index keys", (_ONE_INDEXER, size)))
    return Layer(msg("block-sparse attention"), kept)


def compressed(fields: Fields, layer_type: str) -> Layer:
    """Return a layer of DeepSeek V4: a window, and entries that each cover several older positions.

    Keys and values are one vector, stored once.
    """
    size = fields.number(msg("per head"), "d", "head_dim")
    rates = Fields(_Named(fields.plain("compress_rates")))
    rate = rates.number(msg("positions per entry"), "m", layer_type)
    window = window_of(fields, "sliding_window")
    one = Number(1, msg("KV head"), "h", msg("fixed: all queries share one"))
    kept = [Kept("keys that are values too", (one, size), window)]
    if layer_type == "heavily_compressed_attention":
        kept += _entries("entry", size, rate, series=1)
        return Layer(msg("heavily compressed attention"), tuple(kept))
    index = fields.number(msg("per indexer key"), "d_I", "index_head_dim")
    kept += _entries("entry", size, rate, series=2) + _entries("indexer entry", index, rate, 2)
    return Layer(msg("compressed sparse attention"), tuple(kept))


def _entries(name: str, size: Number, rate: Number, series: int) -> list[Kept]:
    both = Number(2, msg("projection and gate"), "2", msg("fixed"))
    many = Number(series, msg("series"), "s", msg("fixed by the kind of layer"))
    kept = [
        Kept(name, (size,), OneIn(rate)),
        Kept(f"positions that wait for an {name}", (both, many, size), RestOf(rate)),
    ]
    if series > 1:  # windows overlap: the last one of the first series goes into the next entry
        kept.append(Kept(f"overlap of an {name}", (both, rate, size), Once(rate.value)))
    return kept


class _Named:
    """A dictionary in a configuration, with its keys as attributes."""

    def __init__(self, values: object) -> None:
        if isinstance(values, dict):
            self.__dict__.update(values)
