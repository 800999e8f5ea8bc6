"""Our own texts, which the models read in addition to the corpus, from tables and plots.

`notation`  choices in brackets and words in slots, which both use
`tales/`    simple stories
`facts/`    everyday facts in many wordings
"""

from models.training.own_texts.facts import passages
from models.training.own_texts.tales import tales

TALES = 40_000  # 9.5 M tokens
FACT_PASSAGES = 40_000  # 1 M tokens
SEED = 1


def own_texts() -> dict[str, list[str]]:
    """Generate all texts, always the same: shard name -> documents."""
    return {
        "stories_tales": tales(TALES, SEED),
        "facts_everyday": passages(FACT_PASSAGES, SEED),
    }
