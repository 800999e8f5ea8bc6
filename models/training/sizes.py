"""Models that `make models` trains, each with its shape, recipe and mix of texts."""

from dataclasses import dataclass, field, replace

VOCABULARY_SIZE = 16_384

# Shares of the training windows, by corpus file or by our own text (`own_texts`). A run on a CPU
# sees only part of the texts, so it favours what the lessons need: tales, simple stories, plain
# facts. But not too far: a model of 8.6M parameters took a third of its windows from
# `stories_simple`, read 13 times in 40 M tokens. It reached 0.41 bits per byte on those stories and
# 0.92 on new ones; after 14 M, 0.89.
LEAN_MIX = {
    "stories_classic": 0.26,
    "encyclopedia_vital": 0.16,
    "stories_simple": 0.12,
    "facts_templates": 0.10,
    "stories_tales": 0.08,
    "stories_qa": 0.06,
    "textbook": 0.05,
    "dialogue_chat": 0.05,
    "dictionary": 0.04,
    "dialogue_service": 0.03,
    "countries": 0.02,
    "encyclopedia_misc": 0.02,
    "shakespeare": 0.01,
}

# While the rate decays, a model settles on its current texts, so the best texts are kept for then
# (Hu et al. 2024, "MiniCPM", arXiv:2404.06395). The tales above all teach it a consistent story.
LEAN_DECAY_MIX = {
    "stories_tales": 0.47,
    "facts_templates": 0.10,
    "stories_simple": 0.08,
    "stories_classic": 0.07,
    "facts_everyday": 0.06,
    "encyclopedia_vital": 0.06,
    "dialogue_chat": 0.04,
    "stories_qa": 0.03,
    "dialogue_service": 0.03,
    "dictionary": 0.02,
    "countries": 0.02,
    "textbook": 0.02,
}

# A long run would recite the small files, so it takes them closer to their natural sizes. Our own
# tales are numerous, and are the first thing a newcomer sees: a story that stays a story.
BROAD_MIX = {
    "stories_classic": 0.25,
    "encyclopedia_vital": 0.24,
    "stories_tales": 0.10,
    "textbook": 0.07,
    "facts_templates": 0.06,
    "dictionary": 0.06,
    "stories_simple": 0.05,
    "dialogue_chat": 0.04,
    "stories_qa": 0.04,
    "dialogue_service": 0.03,
    "facts_everyday": 0.03,
    "countries": 0.02,
    "shakespeare": 0.01,
}
# Half tales: with 30 % of tales, two readers could follow only 5 stories of 10 to the end.
BROAD_DECAY_MIX = {
    "stories_tales": 0.47,
    "stories_classic": 0.10,
    "encyclopedia_vital": 0.10,
    "stories_simple": 0.07,
    "facts_templates": 0.07,
    "facts_everyday": 0.05,
    "textbook": 0.03,
    "dialogue_chat": 0.03,
    "stories_qa": 0.03,
    "dictionary": 0.02,
    "dialogue_service": 0.02,
    "countries": 0.01,
}

# Filling gaps takes more reading than continuing from the left. So the diffusion model reads only
# the kind of text that it must write: short plain passages.
PLAIN_MIX = {
    "stories_simple": 0.45,
    "facts_templates": 0.20,
    "stories_classic": 0.15,
    "stories_qa": 0.07,
    "dialogue_chat": 0.04,
    "dictionary": 0.04,
    "dialogue_service": 0.03,
    "countries": 0.02,
}

# The same for a long run, in which `PLAIN_MIX` would read the simple stories 130 times.
LONG_PLAIN_MIX = {
    "stories_tales": 0.34,
    "stories_classic": 0.16,
    "stories_simple": 0.12,
    "facts_templates": 0.12,
    "stories_qa": 0.06,
    "facts_everyday": 0.04,
    "dialogue_chat": 0.04,
    "dictionary": 0.04,
    "encyclopedia_vital": 0.03,
    "dialogue_service": 0.03,
    "countries": 0.02,
}


@dataclass(frozen=True)
class Architecture:
    """The shape of a network. Field names are those of `transformers.Qwen3Config`.

    `is_causal` distinguishes a language model from a masked diffusion model. Positions of the first
    see those before them. Positions of the second see all others, and its last token is the mask.
    """

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
    is_causal: bool = True


@dataclass(frozen=True)
class Recipe:
    """Training recipe of a model. Rates are peaks; `train.rate_multiplier` is their schedule."""

    tokens: int  # budget; the last step may exceed it by less than one batch
    mix: dict[str, float] = field(hash=False)
    decay_mix: dict[str, float] | None = field(default=None, hash=False)  # None: `mix` throughout
    batch_tokens: int = 4_096  # tokens per step, whatever the window length
    windows: tuple[int, ...] = (256,)  # tokens per window, alternating step by step
    decay_windows: tuple[int, ...] = (256, 256, 256, 1024)  # the same while the rate decays
    aligned_share: float = 0.7  # windows that start at a document; half of them without its token
    warmup_steps: int = 60
    decay_share: float = 0.4  # of all steps, at the end, linearly to zero
    muon_rate: float = 0.02
    muon_decay: float = 0.05  # decoupled: weights shrink by rate x decay per step
    adam_rate: float = 4e-3
    clip_norm: float = 1.0  # of Adam's gradients; Muon's steps have a fixed size by construction
    seed: int = 1
    start_from: str | None = None  # the model of the same size that provides the initial weights

    @property
    def steps(self) -> int:
        """Optimizer steps that use up the budget."""
        return -(-self.tokens // self.batch_tokens)


@dataclass(frozen=True)
class Plan:
    """One model to train: `name` is also its folder next to this package."""

    name: str
    architecture: Architecture
    recipe: Recipe


def _by_name(*plans: Plan) -> dict[str, Plan]:
    return {plan.name: plan for plan in plans}


_DRAFT = Architecture(
    hidden_size=128,
    num_hidden_layers=4,
    num_attention_heads=2,
    num_key_value_heads=1,
    intermediate_size=352,
)
_SMALL = Architecture(
    hidden_size=256,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=704,
)
_FULL = Architecture(
    hidden_size=384,
    num_hidden_layers=8,
    num_attention_heads=6,
    num_key_value_heads=2,
    intermediate_size=1_024,
)
# One token at a time, the time of a pass depends more on layers than on widths. Two layers propose
# in a fifth of the time of eight.
_SHALLOW_DRAFT = Architecture(
    hidden_size=192,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    intermediate_size=512,
)


def _bidirectional(shape: Architecture) -> Architecture:
    fields = {**shape.__dict__, "is_causal": False, "max_position_embeddings": 256}
    return Architecture(**{**fields, "vocab_size": shape.vocab_size + 1})


_LONG = Recipe(
    300_000_000,
    BROAD_MIX,
    BROAD_DECAY_MIX,
    batch_tokens=32_768,
    windows=(512,),
    decay_windows=(512, 1024),
    warmup_steps=100,
)


# Size -> models in the order of training: a model may start from an earlier one.
SIZES: dict[str, dict[str, Plan]] = {
    # For a CPU of two cores: about four and a half hours when they are free.
    "small": _by_name(
        Plan(
            "target", _SMALL, Recipe(112_000_000, LEAN_MIX, LEAN_DECAY_MIX)
        ),  # 8.6M parameters, 17 MB
        Plan(
            "draft", _DRAFT, Recipe(18_000_000, LEAN_MIX, LEAN_DECAY_MIX)
        ),  # 2.8M parameters, 6 MB
        Plan(
            "diffusion",
            _bidirectional(_SMALL),
            Recipe(
                11_000_000,
                PLAIN_MIX,
                windows=(64, 128, 256),
                decay_windows=(64, 128, 256),
                start_from="target",
            ),
        ),
    ),
    # For one GPU: a quarter of an hour, all three at once.
    "full": _by_name(
        Plan("target", _FULL, _LONG),  # 18.9M parameters, 38 MB
        Plan("draft", _SHALLOW_DRAFT, _LONG),  # 3.9M parameters, 8 MB
        Plan(
            "diffusion",
            _bidirectional(_FULL),
            replace(
                _LONG,
                mix=LONG_PLAIN_MIX,
                decay_mix=None,
                windows=(64, 128, 256),
                decay_windows=(64, 128, 256),
            ),
        ),
    ),
}
