"""Tensors that a recurrent layer or a short convolution keeps: states of constant size.

A convolution keeps its last inputs, (channels, kernel); a recurrence keeps one matrix or vector for
each head. Names of fields are those of transformers 5.23. Tests compare every rule with real
caches.
"""

from __future__ import annotations

from engine.cache_formula import ONCE, Kept, Layer, Number
from engine.errors import NotAModelError, msg
from engine.model.cache_layers.fields import Fields

_KERNEL = ("linear_conv_kernel_dim", "mamba_d_conv", "conv_kernel", "short_conv_kernel_size")


def state_layer(fields: Fields) -> Layer:
    """Return a layer with a state of constant size, of the kind that the fields imply.

    Raises:
        NotAModelError: they imply none of the known kinds.
    """
    for has, kind in _KINDS:
        if any(fields.has(name) for name in has):
            return kind(fields)
    raise NotAModelError(
        "The kind of state in a {plain} layer is not supported, so the size of its cache is "
        "unknown; choose another architecture.",
        fields.plain("model_type"),
    )


def _kept(conv: Number, kernel: Number, *state: Number, dtype: str = "float32") -> tuple[Kept, ...]:
    """Return both states; transformers computes recurrent ones in float32 for any model dtype."""
    convolution = Kept("convolution state", (conv, kernel), ONCE, "model")
    return convolution, Kept("recurrent state", state, ONCE, dtype)


def _kernel(fields: Fields) -> Number:
    return fields.number(msg("inputs of the convolution"), "k", *_KERNEL)


def _delta(fields: Fields) -> Layer:
    """Gated delta rule: Yang et al. 2024, Gated Delta Networks, arXiv:2412.06464."""
    key_heads = fields.number(msg("key heads"), "h_k", "linear_num_key_heads")
    key = fields.number(msg("per key"), "d_k", "linear_key_head_dim")
    heads = fields.number(msg("value heads"), "h_v", "linear_num_value_heads")
    value = fields.number(msg("per value"), "d_v", "linear_value_head_dim")
    channels = Number(
        2 * key_heads.value * key.value + heads.value * value.value,
        msg("channels"),
        "c",
        f"2 x {key_heads.source} x {key.source} + {heads.source} x {value.source}",
    )
    return Layer(msg("gated delta rule"), _kept(channels, _kernel(fields), heads, key, value))


def _square_delta(fields: Fields) -> Layer:
    """Kimi Delta Attention and similar layers: queries, keys and values of one size.

    Kimi Team 2025, Kimi Linear, arXiv:2510.26692.
    """
    heads = fields.number(msg("heads"), "h", "linear_num_heads")
    size = fields.number(msg("per head"), "d", "linear_head_dim")
    source = f"3 x {heads.source} x {size.source}"
    channels = Number(3 * heads.value * size.value, msg("channels"), "c", source)
    return Layer(msg("linear attention"), _kept(channels, _kernel(fields), heads, size, size))


def _heads_of_mamba(fields: Fields) -> Layer:
    """Mamba 2: Dao and Gu 2024, arXiv:2405.21060."""
    heads = fields.number(msg("heads"), "h", "mamba_num_heads", "mamba_n_heads", *_ONLY_MAMBA_2)
    size = fields.number(msg("per head"), "d", "mamba_head_dim", "mamba_d_head", *_SIZES_OF_MAMBA_2)
    state = fields.number(msg("values of the state"), "N", *_STATES)
    groups = fields.number(msg("groups"), "g", "n_groups", "mamba_n_groups", "mamba_ngroups")
    channels = Number(
        heads.value * size.value + 2 * groups.value * state.value,
        msg("channels"),
        "c",
        f"{heads.source} x {size.source} + 2 x {groups.source} x {state.source}",
    )
    return Layer(msg("Mamba 2"), _kept(channels, _kernel(fields), heads, size, state))


_STATES = ("ssm_state_size", "mamba_d_state", "state_size")
_ONLY_MAMBA_2 = ("n_mamba_heads", "num_heads")
_SIZES_OF_MAMBA_2 = ("mamba_headdim", "head_dim")


def _mamba(fields: Fields) -> Layer:
    """Mamba: Gu and Dao 2023, arXiv:2312.00752."""
    state = fields.number(msg("values of the state"), "N", *_STATES)
    if fields.has("mamba_expand"):
        hidden = fields.number(msg("hidden size"), "d_model", "hidden_size")
        expand = fields.number(msg("expansion"), "e", "mamba_expand")
        source = f"{expand.source} x {hidden.source}"
        channels = Number(hidden.value * expand.value, msg("channels"), "c", source)
    else:
        channels = fields.number(msg("channels"), "c", "intermediate_size")
    return Layer(msg("Mamba"), _kept(channels, _kernel(fields), channels, state))


def _short_convolution(fields: Fields) -> Layer:
    channels = fields.number(msg("channels"), "c", "hidden_size")
    kernel = fields.number(msg("inputs of the convolution"), "k", "conv_L_cache")
    kept = (Kept("convolution state", (channels, kernel), ONCE, "model"),)
    return Layer(msg("short convolution"), kept)


def _delayed_values(fields: Fields) -> Layer:
    """Zaya: convolutions over queries and keys; half of a value is the previous position's."""
    heads = fields.number(msg("heads"), "H", "num_attention_heads")
    groups = fields.number(msg("KV heads"), "h", "num_key_value_heads")
    size = fields.number(msg("per head"), "d", "head_dim")
    source = f"({heads.source} + {groups.source}) x {size.source}"
    channels = Number((heads.value + groups.value) * size.value, msg("channels"), "c", source)
    first, second = (fields.number(msg("kernel"), "k", name) for name in ("cca_time0", "cca_time1"))
    source = f"{first.source} + {second.source} - 2"
    kernel = Number(first.value + second.value - 2, msg("inputs of the convolution"), "k", source)
    half = groups.value * size.value // 2
    delayed = Number(half, msg("delayed values"), "v", f"{groups.source} x {size.source} / 2")
    return Layer(msg("delayed values"), _kept(channels, kernel, delayed, dtype="model"))


# The fields that distinguish the kinds, the more specific ones first.
_KINDS = (
    (("cca_time0",), _delayed_values),
    (("conv_L_cache",), _short_convolution),
    (("linear_num_key_heads",), _delta),
    (("linear_num_heads",), _square_delta),
    (("mamba_num_heads", "mamba_n_heads", "mamba_headdim", "n_groups"), _heads_of_mamba),
    (("mamba_d_state", "state_size"), _mamba),
)
