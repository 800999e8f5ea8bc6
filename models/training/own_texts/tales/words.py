"""The people, animals, things and places that fill the slots of the plots."""

from models.training.own_texts.notation import Word


def _people(names: str, kind: str, pronoun: str) -> tuple[Word, ...]:
    return tuple(Word(name, kind, pronoun) for name in names.split())


def _things(text: str) -> tuple[Word, ...]:
    """Parse words separated by commas; an irregular plural follows a slash."""
    return tuple(Word.parse(entry) for entry in text.split(","))


_girls = _people(
    "Lily Mia Anna Sara Lucy Ella Rosa Nina Zoe Amy"
    " Emma Maya Ruby Clara Ivy Jane Kate Sue Tara Molly",
    "girl",
    "she",
)
_boys = _people(
    "Tim Tom Ben Max Sam Jack Leo Noah Finn Omar"
    " Ravi Luke Adam Billy Hugo Peter Oscar Dan Joe Kofi",
    "boy",
    "he",
)

_ANIMALS = {
    "rabbit": "Hoppy Clover Thumper",
    "fox": "Rusty Felix Vera",
    "bear": "Bruno Honey Berta",
    "mouse": "Pip Minnie Squeak",
    "duck": "Daisy Quackers Dilly",
    "frog": "Freddy Lola Croak",
    "owl": "Olive Hoot Otto",
    "squirrel": "Nutty Hazel Chip",
    "hedgehog": "Prickle Harry Spike",
    "turtle": "Shelly Tilda Toby",
    "cat": "Whiskers Mimi Shadow",
    "dog": "Spot Bella Rex",
    "bird": "Robin Tweet Pearl",
    "elephant": "Ellie Jumbo Tara",
    "lion": "Leon Goldie Roary",
}
_SHE = "Clover Vera Honey Berta Minnie Daisy Dilly Lola Olive Hazel Shelly Tilda Mimi Bella Pearl"
_SHE += " Ellie Tara Goldie"

WORDS: dict[str, tuple[Word, ...]] = {
    "girl": _girls,
    "boy": _boys,
    "child": _girls + _boys,
    "animal": tuple(
        Word(name, kind, "she" if name in _SHE.split() else "he")
        for kind, names in _ANIMALS.items()
        for name in names.split()
    ),
    "pet": _things(
        "dog, cat, puppy/puppies, kitten, rabbit, hamster, bird, duck, goat, pony/ponies"
    ),
    "toy": _things(
        "ball, kite, doll, toy car, teddy bear, drum, boat, train, balloon, top, bike, puzzle,"
        " robot"
    ),
    "food": _things(
        "apple, cake, cookie, sandwich/sandwiches, pear, orange, muffin, carrot, banana, pancake,"
        " pie, bun"
    ),
    "place": _things(
        "park, garden, forest, beach/beaches, farm, river, hill, meadow, lake, market, playground,"
        " yard"
    ),
    "room": _things("kitchen, bedroom, attic, living room, shed, barn, classroom, hall"),
    "color": _things("red, blue, green, yellow, purple, orange, white, black, pink, brown"),
    "elder": (
        Word("Mom", "mother", "she"),
        Word("Dad", "father", "he"),
        Word("Grandma", "grandmother", "she"),
        Word("Grandpa", "grandfather", "he"),
    ),
    "worker": tuple(
        Word(f"the {job}", job, pronoun)
        for job, pronoun in (
            ("farmer", "he"),
            ("baker", "she"),
            ("teacher", "she"),
            ("doctor", "he"),
            ("gardener", "he"),
            ("fisherman", "he"),
            ("shopkeeper", "she"),
            ("painter", "she"),
        )
    ),
    "feeling": _things("happy, proud, glad, cheerful, excited"),
    "clothes": _things("hat, scarf/scarves, coat, jacket, sweater, cap, glove, shoe"),
    "creature": _things(
        "butterfly/butterflies, bee, snail, ladybug, spider, worm, ant, beetle, caterpillar"
    ),
    "plant": _things(
        "flower, tree, seed, bush/bushes, pumpkin, sunflower, bean, rose, tomato/tomatoes"
    ),
}
