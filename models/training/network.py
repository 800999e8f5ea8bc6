"""The network used in training: Qwen3's arithmetic and parameter names, arranged for speed.

Llama-style blocks (RMSNorm before each half, rotary positions, grouped-query attention, SwiGLU)
with Qwen3's normalised queries and keys, and one matrix for both embedding and output head.
Parameters are float32. Every product casts them to `dtype` on the way, so the optimizer needs no
second copy. `transformers.Qwen3ForCausalLM` computes the same logits from the same state dict (see
`export`). A masked diffusion model differs only in that both leave out the causal mask.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.training.sizes import Architecture


class Linear(nn.Linear):
    """A matrix product in the dtype of its input. The weight is (out, in) float32, without bias."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


class RMSNorm(nn.Module):
    """Root-mean-square norm over the last dimension (Zhang and Sennrich 2019), in float32."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * self.weight).to(x.dtype)


def rotary_table(length: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary positions (Su et al. 2021), each (length, head_dim)."""
    frequencies = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(length).float(), frequencies)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (i, i + head_dim / 2) of x, (batch, length, heads, head_dim), by its angle."""
    wide = x.float()
    first, second = wide.chunk(2, dim=-1)
    turned = wide * cos[:, None] + torch.cat([-second, first], dim=-1) * sin[:, None]
    return turned.to(x.dtype)


def attention(queries: Tensor, keys: Tensor, values: Tensor, is_causal: bool) -> Tensor:
    """Compute softmax attention with several query heads per key head.

    Args:
        queries: (batch, length, query_heads, head_dim)
        keys, values: (batch, length, kv_heads, head_dim)
        is_causal: attend only to this and earlier positions, instead of all.

    Returns:
        (batch, length, query_heads, head_dim)
    """
    batch, length, query_heads, head_dim = queries.shape
    kv_heads = keys.shape[2]
    if queries.is_cuda:
        mixed = F.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys.transpose(1, 2),
            values.transpose(1, 2),
            is_causal=is_causal,
            enable_gqa=True,
        )
        return mixed.transpose(1, 2)
    # On a CPU, two batched products around a compiled softmax beat the fused kernel by 15 %. The
    # query heads of one key head are adjacent, so grouping copies no keys.
    rows = query_heads // kv_heads * length
    queries = queries.view(batch, length, kv_heads, -1, head_dim).permute(0, 2, 3, 1, 4)
    queries = queries.reshape(batch * kv_heads, rows, head_dim)
    keys = keys.permute(0, 2, 3, 1).reshape(batch * kv_heads, head_dim, length)
    values = values.permute(0, 2, 1, 3).reshape(batch * kv_heads, length, head_dim)
    scores = torch.bmm(queries, keys).view(batch * kv_heads, -1, length, length).float()
    scores = scores * head_dim**-0.5
    if is_causal:
        position = torch.arange(length, device=scores.device)
        scores = torch.where(position <= position[:, None], scores, -1e30)
    weights = torch.softmax(scores, dim=-1).to(values.dtype)
    mixed = torch.bmm(weights.view(batch * kv_heads, rows, length), values)
    return mixed.view(batch, query_heads, length, head_dim).transpose(1, 2)


class Attention(nn.Module):
    """Grouped-query attention (Ainslie et al. 2023) with normalised queries and keys."""

    def __init__(self, shape: Architecture):
        super().__init__()
        self.head_dim = shape.head_dim
        self.is_causal = shape.is_causal
        self.widths = [
            shape.num_attention_heads * shape.head_dim,
            shape.num_key_value_heads * shape.head_dim,
            shape.num_key_value_heads * shape.head_dim,
        ]
        self.q_proj = Linear(shape.hidden_size, self.widths[0])
        self.k_proj = Linear(shape.hidden_size, self.widths[1])
        self.v_proj = Linear(shape.hidden_size, self.widths[2])
        self.o_proj = Linear(self.widths[0], shape.hidden_size)
        self.q_norm = RMSNorm(shape.head_dim, shape.rms_norm_eps)
        self.k_norm = RMSNorm(shape.head_dim, shape.rms_norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        # One product for all three: a wide matrix keeps the cores busier than three narrow ones.
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        heads = [
            part.view(batch, length, -1, self.head_dim)
            for part in F.linear(x, weight.to(x.dtype)).split(self.widths, dim=-1)
        ]
        queries = rotate(self.q_norm(heads[0]), cos, sin)
        keys = rotate(self.k_norm(heads[1]), cos, sin)
        mixed = attention(queries, keys, heads[2], self.is_causal)
        return self.o_proj(mixed.reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x))."""

    def __init__(self, shape: Architecture):
        super().__init__()
        self.gate_proj = Linear(shape.hidden_size, shape.intermediate_size)
        self.up_proj = Linear(shape.hidden_size, shape.intermediate_size)
        self.down_proj = Linear(shape.intermediate_size, shape.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.cat([self.gate_proj.weight, self.up_proj.weight])
        gate, up = F.linear(x, weight.to(x.dtype)).chunk(2, dim=-1)
        return self.down_proj((F.silu(gate.float()) * up.float()).to(x.dtype))


class Block(nn.Module):
    """One layer: x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, shape: Architecture):
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):
    """A language model, or a masked diffusion model. Call `compile_blocks` once before training.

    Args:
        shape: all sizes of the network.
        dtype: dtype of activations and products; parameters stay float32.
    """

    def __init__(self, shape: Architecture, dtype: torch.dtype = torch.bfloat16):
        super().__init__()
        self.shape = shape
        self.dtype = dtype
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.num_hidden_layers))
        self.norm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        cos, sin = rotary_table(shape.max_position_embeddings, shape.head_dim, shape.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._cross_entropy = cross_entropy_with_gradient

    @torch.no_grad()
    def initialise(self, seed: int) -> None:
        """Draw initial weights. Output matrices are zero, so at first each block adds nothing."""
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if name.endswith("embed_tokens.weight"):
                parameter.normal_(std=0.02, generator=generator)
            elif name.endswith(("o_proj.weight", "down_proj.weight")):
                parameter.zero_()
            elif parameter.ndim == 2:
                parameter.normal_(std=0.5 * parameter.shape[1] ** -0.5, generator=generator)

    def compile_blocks(self) -> None:
        """Compile one block, shared by all layers, and the loss: seconds instead of minutes."""
        for block in self.layers:
            block.compile(dynamic=False)
        self._cross_entropy = torch.compile(cross_entropy_with_gradient, dynamic=False)

    def hidden(self, ids: Tensor) -> Tensor:
        """Compute normalised last hidden states (batch, length, hidden) of ids (batch, length)."""
        length = ids.shape[1]
        x = self.embed_tokens(ids).to(self.dtype)
        for block in self.layers:
            x = block(x, self.cos[:length], self.sin[:length])
        return self.norm(x)

    def logits(self, ids: Tensor) -> Tensor:
        """Compute logits (batch, length, vocab) of ids (batch, length).

        A causal model scores the next token at each position, a diffusion model the position's
        own.
        """
        return F.linear(self.hidden(ids), self.embed_tokens.weight.to(self.dtype))

    def loss(self, hidden: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Compute the weighted sum of cross-entropies in nats, with gradients.

        Args:
            hidden: (rows, hidden) from `hidden`, flattened or selected.
            targets: (rows,) token ids.
            weights: (rows,) float32; 1 / rows gives the mean.
        """
        weight = self.embed_tokens.weight
        return ChunkedCrossEntropy.apply(hidden, weight, targets, weights, self._cross_entropy)

    @torch.no_grad()
    def token_losses(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy in nats of every target, (batch, length) float32, without gradients."""
        head = self.embed_tokens.weight.to(self.dtype)
        losses = [
            F.cross_entropy(F.linear(row, head).float(), target, reduction="none")
            for row, target in zip(self.hidden(ids), targets, strict=True)
        ]
        return torch.stack(losses)


def cross_entropy_with_gradient(
    logits: Tensor, targets: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute the weighted sum of cross-entropies of logits (rows, vocab), and its gradient."""
    wide = logits.float()
    wide = wide - wide.amax(-1, keepdim=True)
    powers = wide.exp()
    totals = powers.sum(-1, keepdim=True)
    chosen = wide.gather(1, targets[:, None])
    is_target = torch.arange(logits.shape[1], device=logits.device) == targets[:, None]
    gradient = (powers / totals - is_target.float()) * weights[:, None]
    return ((totals.log() - chosen)[:, 0] * weights).sum(), gradient.to(logits.dtype)


class ChunkedCrossEntropy(torch.autograd.Function):
    """Output head and weighted cross-entropy in one, `CHUNK` rows at a time.

    The logits of a whole batch would be by far the largest tensor of training. Here a chunk is
    converted to its gradient while still in cache, then dropped. The backward pass only returns
    results of the forward pass. The weight's gradient is summed in float32.
    """

    CHUNK = 1024
    CHUNK_ON_GPU = 8192  # few large products: launching small ones costs more than computing them

    @staticmethod
    def forward(ctx, hidden, weight, targets, weights, cross_entropy):
        head = weight.to(hidden.dtype)
        total = torch.zeros((), device=hidden.device)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight)
        size = ChunkedCrossEntropy.CHUNK_ON_GPU if hidden.is_cuda else ChunkedCrossEntropy.CHUNK
        for start in range(0, len(hidden), size):
            rows = slice(start, start + size)
            loss, gradient = cross_entropy(hidden[rows] @ head.T, targets[rows], weights[rows])
            total += loss
            torch.mm(gradient, head, out=hidden_gradient[rows])
            weight_gradient += gradient.T @ hidden[rows]
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        return total

    @staticmethod
    def backward(ctx, _):
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient, weight_gradient, None, None, None
