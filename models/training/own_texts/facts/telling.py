"""Many different passages from all tables."""

import random
from functools import cache
from pathlib import Path

from models.training.own_texts.facts.table import Table, parse_tables

TABLES = Path(__file__).parent / "tables"
SENTENCES = (1, 2, 3, 4, 5)


@cache
def all_tables() -> tuple[Table, ...]:
    """Load the tables of all files, in the order of the file names."""
    return tuple(
        table
        for file in sorted(TABLES.glob("*.txt"))
        for table in parse_tables(file.read_text(encoding="utf-8"))
    )


def passages(count: int, seed: int) -> list[str]:
    """Return `count` passages of one to five sentences; the same seed gives the same passages.

    Every fact is equally frequent. A passage is about one fact in several wordings, about facts of
    one sort, or about anything. So the text before a fact seldom gives it away.
    """
    chance = random.Random(seed)
    facts = [(table, fact) for table in all_tables() for fact in table.facts]
    return [_passage(facts, chance) for _ in range(count)]


def _passage(facts: list[tuple[Table, dict]], chance: random.Random) -> str:
    table, fact = chance.choice(facts)
    length = chance.choice(SENTENCES)
    about = chance.choice(("one fact", "one sort", "anything"))
    if about == "one fact":
        chosen = [(table, fact)] * min(length, 3)
    elif about == "one sort":
        others = [(table, other) for other in table.facts if other is not fact]
        chosen = [(table, fact), *chance.sample(others, min(length - 1, len(others)))]
    else:
        chosen = [(table, fact), *chance.sample(facts, length - 1)]
    said = [table.say(fact, chance) for table, fact in chosen]
    return " ".join(dict.fromkeys(said))
