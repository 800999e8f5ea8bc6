"""Constrained decoding: objects of fifty schemas at T = 1.2, and the cost of a mask.

    python -m benchmarks constrained [--objects 4]

`jsonschema` judges every object. Masks are timed along random texts of five constraints, over the
bundled vocabulary and over 151,936 made-up tokens.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.report import PACKAGES, Report, at_least, at_most
from engine.decoder import Decoder
from engine.grammar import Places, TokenTable
from engine.model import LanguageModel, load_model
from engine.sampling import Constraint, SamplingSettings
from engine.study import judge

TEMPERATURE = 1.2
MOST_TOKENS = 400
LARGE = 151_936
STEPS = 60
MOST_US = 2000.0  # for the median mask: below the forward pass of a model with such a vocabulary


def of(**properties: object) -> dict:
    """Return the schema of an object that needs all of these properties and allows no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(most: int = 12, **more: object) -> dict:
    """Return the schema of a string of at most `most` characters."""
    return {"type": "string", "maxLength": most, **more}


def whole(low: int = 0, high: int = 999) -> dict:
    """Return the schema of a whole number in a range."""
    return {"type": "integer", "minimum": low, "maximum": high}


def some(items: object, least: int = 0, most: int = 3) -> dict:
    """Return the schema of an array."""
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


BOOLEAN, NUMBER, NULL = {"type": "boolean"}, {"type": "number"}, {"type": "null"}
COLOUR = {"enum": ["red", "green", "blue"]}
POINT = of(x=whole(), y=whole())
SCHEMAS: tuple[object, ...] = (
    BOOLEAN,
    NULL,
    whole(-5, 5),
    whole(1000, 1_000_000),
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 20},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"enum": [1, "one", None, True, {"a": [1, 2]}]},
    {"const": {"fixed": ["a", 1]}},
    text(),
    text(5, minLength=3),
    {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
    {"type": "string", "pattern": "^(north|south)(east|west)?$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "format": "ipv4"},
    {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
    some(BOOLEAN),
    some(whole(), 2, 4),
    some(COLOUR, 1, 5),
    some(some(whole(0, 9), 1, 2), 1, 2),
    some(POINT, 1, 2),
    {"type": "array", "prefixItems": [COLOUR, whole(), BOOLEAN], "items": False, "minItems": 3},
    POINT,
    of(name=text(), age=whole(0, 120)),
    of(name=text(), likes=some(COLOUR, 0, 2)),
    of(title=text(20), pages=whole(1, 900), read=BOOLEAN),
    of(id={"type": "string", "pattern": "^[a-f0-9]{8}$"}, ok=BOOLEAN),
    of(a=of(b=of(c=of(d=BOOLEAN)))),
    of(start=POINT, end=POINT, colour=COLOUR),
    of(mass={"type": "number", "minimum": 0, "maximum": 10}, unit={"enum": ["g", "kg"]}),
    of(value={"anyOf": [whole(), text(6), NULL]}),
    of(shape={"oneOf": [of(circle=whole()), of(square=whole(), filled=BOOLEAN)]}),
    {**of(city=text(), zip=text(5)), "required": ["city"]},
    {**of(a=whole(), b=whole(), c=whole()), "required": []},
    {"type": "object", "additionalProperties": whole(0, 9), "maxProperties": 2},
    {"$ref": "#/$defs/point", "$defs": {"point": POINT}},
    {
        **of(value=whole(0, 9), next={"anyOf": [NULL, of(value=whole(0, 9))]}),
        "title": "A list of at most two",
    },
    {
        "$ref": "#/$defs/leaf",
        "$defs": {"leaf": {"anyOf": [whole(0, 9), some({"$ref": "#/$defs/leaf"}, 0, 2)]}},
    },
    of(when={"type": "string", "format": "time"}, where=text(8)),
    of(email={"type": "string", "pattern": "^[a-z]{2,8}@[a-z]{2,6}\\.(com|org)$"}),
    of(move={"enum": ["north", "south"]}, steps=whole(1, 9)),
    of(question=text(24), answers=some(text(8), 2, 3), right=whole(0, 2)),
    of(tags=some({"type": "string", "pattern": "^[a-z]{1,6}$"}, 1, 3)),
    of(ratio={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, n=whole()),
    of(matrix=some(some(whole(0, 1), 2, 2), 2, 2)),
    of(status={"const": "done"}, code={"enum": [200, 404, 500]}),
    of(first=text(6), second=text(6), third=text(6), fourth=text(6)),
    of(price={"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 100}),
    of(naïve=text(4), **{"日本": BOOLEAN, 'say "hi"': NULL}),
    {"allOf": [of(a=whole(0, 9)), {"type": "object", "properties": {"a": whole(5, 99)}}]},
)


def measure_objects(report: Report, model: LanguageModel, schemas: Sequence, count: int) -> None:
    """Generate objects and have them judged; invalid ones are reported."""
    valid, tokens, began = 0, 0, time.perf_counter()
    for number, schema in enumerate(schemas):
        constraint = Constraint("json_schema", json.dumps(schema, ensure_ascii=False))
        for seed in range(count):
            settings = SamplingSettings(constraint=constraint, temperature=TEMPERATURE, seed=seed)
            decoder = Decoder(model, "As JSON:\n", settings)
            for _ in decoder.run(MOST_TOKENS):
                pass
            tokens += len(decoder.steps)
            found = judge(constraint, decoder.text)
            if found.is_valid and decoder.stop_reason == "eos":
                valid += 1
            else:
                print(number, seed, decoder.stop_reason, found.problem, repr(decoder.text[:80]))
    ms = 1e3 * (time.perf_counter() - began) / tokens
    objects = len(schemas) * count
    detail = f"{valid} of {objects} objects of {len(schemas)} schemas, {tokens:,} tokens"
    report.add("valid objects", valid / objects, "", goal=at_least(1.0), detail=detail)
    report.add("time per token", ms, "ms", detail="the whole step, constraint and model")


TIMED = {
    "choices": ("choices", '["yes", "no", "perhaps"]'),
    "regex": ("regex", "[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,20}"),
    "any text": ("regex", "(.|\n){0,4000}"),
    "schema": ("json_schema", json.dumps(some(of(name=text(30), age=whole()), 50, 99))),
    "lark": ("lark", 'start: term ("+" term)*\nterm: /[0-9]+/ | "(" start ")"'),
}


def measure_masks(report: Report, places: Places, ends: tuple[int, ...], steps: int) -> None:
    """Measure the microseconds of each new mask along a random text."""
    for name, (language, source) in TIMED.items():
        rng, ids, took = np.random.default_rng(1), [], []
        for _ in range(steps):
            began = time.perf_counter()
            place = places.at(language, source, ids)
            took.append(1e6 * (time.perf_counter() - began))
            allowed = np.setdiff1d(np.flatnonzero(place.allowed), ends)
            if not allowed.size:
                break
            ids.append(int(rng.choice(allowed)))
        rest = took[1:] or took
        detail = f"first {took[0]:,.0f}, most {max(rest):,.0f} us, {len(took)} masks"
        middle = float(np.median(rest))
        report.add(f"mask, {name}", middle, "us", goal=at_most(MOST_US), detail=detail)


def large_places(model: LanguageModel) -> Places:
    """Create as many tokens as a large model has: the bundled ones, then pairs of these."""
    vocabulary = model.vocabulary
    own = [vocabulary.token_bytes(i) for i in range(model.vocab_size)]
    rng = np.random.default_rng(7)
    pairs = rng.integers(300, model.vocab_size, (LARGE - len(own), 2))
    tokens = [*own, *(own[one] + own[other] for one, other in pairs.tolist())]
    table = TokenTable(tokens, vocabulary.special_ids, model.eos_ids)
    return Places(lambda: table, LARGE)


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks constrained", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--objects", type=int, default=4, help="objects of each schema")
    parser.add_argument("--quick", action="store_true", help="short: to see that it runs")
    options = parser.parse_args(arguments)
    schemas, steps, sizes = SCHEMAS, STEPS, ("16k", "152k")
    if options.quick:
        schemas, steps, sizes, options.objects = SCHEMAS[::8], 8, ("16k",), 1
    model = load_model()
    report = Report("constrained", (*PACKAGES, "llguidance", "jsonschema"))
    report.section(f"objects at T = {TEMPERATURE}")
    measure_objects(report, model, schemas, options.objects)
    for size in sizes:
        report.section(f"masks over {size} tokens")
        places = model.places if size == "16k" else large_places(model)
        began = time.perf_counter()
        places.at("choices", '["a"]', ())
        report.add("tokenizer", 1e3 * (time.perf_counter() - began), "ms", detail="once a model")
        measure_masks(report, places, model.eos_ids, steps)
    return report.finish()


if __name__ == "__main__":
    main()
