"""Size presets: the shape of a model, the recipe that trains it, and the mix of texts it reads."""

from dataclasses import dataclass, field

VOCABULARY_SIZE = 16_384

# Shares of the training windows, by corpus file. A short run on a CPU sees each text few times, so
# it leans on what the lessons ask of it: simple stories, plain facts, tales.
LEAN_MIX = {
    "stories_simple": 0.27,
    "stories_classic": 0.25,
    "facts_templates": 0.18,
    "encyclopedia_vital": 0.08,
    "stories_qa": 0.06,
    "textbook": 0.03,
    "dialogue_chat": 0.03,
    "countries": 0.03,
    "dictionary": 0.03,
    "dialogue_service": 0.02,
    "encyclopedia_misc": 0.01,
    "shakespeare": 0.01,
}

# A long run would recite the small files, so it takes them closer to their natural sizes.
BROAD_MIX = {
    "stories_classic": 0.31,
    "encyclopedia_vital": 0.26,
    "stories_simple": 0.09,
    "textbook": 0.07,
    "facts_templates": 0.05,
    "dictionary": 0.05,
    "dialogue_chat": 0.04,
    "dialogue_service": 0.04,
    "stories_qa": 0.04,
    "encyclopedia_misc": 0.03,
    "countries": 0.01,
    "shakespeare": 0.01,
}


@dataclass(frozen=True)
class Architecture:
    """The shape of the decoder. Field names are those of `transformers.Qwen3Config`."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    intermediate_size: int
    head_dim: int = 64
    vocab_size: int = VOCABULARY_SIZE
    max_position_embeddings: int = 1024
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0


@dataclass(frozen=True)
class Recipe:
    """How a size is trained. Rates are peaks; `train.rate_multiplier` is their schedule."""

    tokens: int  # budget; the last step may pass it by less than one batch
    batch_tokens: int  # tokens per step, whatever the window length
    mix: dict[str, float] = field(hash=False)
    window: int = 256  # tokens per window while the rate is constant
    long_window: int = 1024  # every second step of the decay, so that late positions are trained
    aligned_share: float = 0.5  # windows that start at a document; half of them without its token
    warmup_steps: int = 60
    decay_share: float = 0.4  # of all steps, at the end, linearly to zero
    muon_rate: float = 0.02
    muon_decay: float = 0.05  # decoupled: weights shrink by rate x decay a step
    adam_rate: float = 4e-3
    seed: int = 1

    @property
    def steps(self) -> int:
        """Optimizer steps that spend the budget."""
        return -(-self.tokens // self.batch_tokens)


@dataclass(frozen=True)
class Size:
    """A preset: `SIZES["small"]` fits a CPU, `SIZES["full"]` wants a GPU."""

    name: str
    architecture: Architecture
    recipe: Recipe


SIZES = {
    size.name: size
    for size in (
        # 8.6M parameters, 17 MB in bfloat16; about half an hour on two free CPU cores.
        Size(
            "small",
            Architecture(
                hidden_size=256,
                num_hidden_layers=6,
                num_attention_heads=4,
                num_key_value_heads=2,
                intermediate_size=704,
            ),
            Recipe(tokens=14_000_000, batch_tokens=4_096, mix=LEAN_MIX, decay_share=0.3),
        ),
        # 22M parameters, 44 MB in bfloat16; for one GPU.
        Size(
            "full",
            Architecture(
                hidden_size=384,
                num_hidden_layers=10,
                num_attention_heads=6,
                num_key_value_heads=2,
                intermediate_size=1_024,
            ),
            Recipe(
                tokens=400_000_000,
                batch_tokens=32_768,
                mix=BROAD_MIX,
                window=512,
                warmup_steps=100,
            ),
        ),
    )
}
