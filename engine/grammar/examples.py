"""An example constraint, and a prompt that suits it."""

from __future__ import annotations

import json

PERSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 1, "maximum": 99},
            "likes": {
                "type": "array",
                "items": {"enum": ["cats", "books", "cake", "football"]},
                "minItems": 1,
                "maxItems": 2,
            },
        },
        "required": ["name", "age", "likes"],
        "additionalProperties": False,
    },
    indent=1,
)
PERSON_PROMPT = '{"name": "Lily", "age": 6, "likes": ["books"]}\n'
