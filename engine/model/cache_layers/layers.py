"""Contents of a cache, layer by layer, derived from the model's configuration.

The kind of each layer comes from transformers, as for its own caches. The sizes are read from the
fields of the configuration. If it gives no head size, that is the hidden size divided by the number
of heads.
"""

from __future__ import annotations

from transformers import PretrainedConfig
from transformers.cache_utils import get_layer_types_and_kwargs

from engine.cache_formula import ONCE, Kept, Layer, Number
from engine.errors import NotAModelError, msg
from engine.model.cache_layers import attention as attentions
from engine.model.cache_layers.fields import Fields
from engine.model.cache_layers.states import state_layer
from engine.model.loading.files import first_line

# Architectures whose cache is empty, or lacks the states that decide the next token. The probe of
# `load_model` refuses them too, as docs/architectures.md says.
NOT_IN_A_CACHE = {
    *("blt", "cpmant", "minimax", "openai-gpt", "prophetnet", "recurrent_gemma", "reformer"),
    *("rwkv", "xlm", "xlnet", "xlstm"),
}
SHARED = Layer(msg("reads the cache of an earlier layer"))
NONE = Layer(msg("no attention, keeps nothing"))


def layers_of(config: PretrainedConfig) -> tuple[Layer, ...]:
    """Return the contents of every layer of the cache, in order.

    Args:
        config: a configuration of transformers; only the part for text is used.

    Raises:
        NotAModelError: an encoder-decoder model, one without a cache, or of an unknown kind.
    """
    if config.is_encoder_decoder:
        raise NotAModelError(
            "{model_type} is an encoder-decoder model, with a second cache for what the "
            "encoder has read; choose a causal language model.",
            config.model_type,
        )
    text = config.get_text_config(decoder=True)
    if text.model_type in NOT_IN_A_CACHE:
        raise NotAModelError(
            "transformers keeps nothing of a {model_type} model in a cache that can be "
            "measured; choose another architecture.",
            text.model_type,
        )
    try:
        return _layers(text)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise NotAModelError(
            "The layers of a {model_type} model cannot be determined from its configuration "
            "({error}); check config.json.",
            (text.model_type, first_line(error)),
        ) from error


def _layers(text: PretrainedConfig) -> tuple[Layer, ...]:
    types, _ = get_layer_types_and_kwargs(text)
    sharing = getattr(text, "kv_sharing_modes", None) or [None] * len(types)
    return tuple(
        SHARED if mode == "reuse" else _layer(kind, Fields(part), place)
        for place, (kind, part, mode) in enumerate(
            zip(types, text.per_layer_config, sharing, strict=True)
        )
    )


def _layer(kind: str, fields: Fields, place: int) -> Layer:
    window = ("sliding_window", "sliding_window_size")
    if kind == "full_attention":
        return attentions.attention(fields, attentions.FULL)
    if kind == "sliding_attention":
        span = attentions.window_of(fields, *window)
        return attentions.attention(fields, attentions.SLIDING, span)
    if kind == "chunked_attention":
        span = attentions.window_of(fields, "attention_chunk_size")
        return attentions.attention(fields, attentions.CHUNKED, span)
    if kind == "indexed_attention":
        return attentions.indexed(fields, place)
    if kind == "minimax_m3_sparse":
        return attentions.block_sparse(fields)
    if kind in ("heavily_compressed_attention", "compressed_sparse_attention"):
        return attentions.compressed(fields, kind)
    if kind in ("linear_attention", "conv"):
        return state_layer(fields)
    if kind == "hybrid":
        return _both(fields, attentions.attention(fields, attentions.FULL))
    if kind == "hybrid_sliding":
        span = attentions.window_of(fields, *window)
        return _both(fields, attentions.attention(fields, attentions.SLIDING, span))
    if kind == "dummy":
        return NONE
    raise NotAModelError(
        "Layers of the kind {kind} are not supported, so the size of the cache is unknown; "
        "choose another architecture.",
        repr(kind),
    )


def _both(fields: Fields, plain: Layer) -> Layer:
    """Return a hybrid layer: attention, together with a recurrent state or convolutions."""
    if fields.has("number_of_conv_states"):
        return Layer(
            f"{plain.kind} with short convolutions", plain.kept + _convolutions(fields, plain)
        )
    state = state_layer(fields)
    return Layer(f"{plain.kind} with {state.kind}", plain.kept + state.kept)


def _convolutions(fields: Fields, plain: Layer) -> tuple[Kept, ...]:
    """Return Inkling's convolution states for keys, values and the inputs of both sublayers."""
    kernel = fields.number(msg("inputs of the convolution"), "k", "conv_kernel_size")
    hidden = fields.number(msg("channels"), "c", "hidden_size")
    channels = [
        Number(
            kept.values, msg("channels"), "c", " x ".join(factor.source for factor in kept.factors)
        )
        for kept in plain.kept
    ]
    names = ("keys", "values", "attention", "feed-forward")
    return tuple(
        Kept(f"convolution state of {name}", (each, kernel), ONCE, "float32")
        for name, each in zip(names, (*channels, hidden, hidden), strict=True)
    )
