"""The current settings as code for other engines: code to copy, and remarks on its limits.

    >>> settings = SamplingSettings(temperature=0.7, top_p=0.9)
    >>> first = snippets(settings, "Hello", model="gpt2", max_tokens=64)[0]
    >>> first.target, first.lacking
    ('transformers', ())

One module per target contains its table: the name of each of the app's settings there
(`engine.export.table`). A setting without an entry is reported as lacking.
"""

from engine.export.code import snippets
from engine.export.parameters import has_setting, names_of, parameters_for
from engine.export.table import ChatPrompt, Remark, Request, Snippet

__all__ = [
    "ChatPrompt",
    "Remark",
    "Request",
    "Snippet",
    "has_setting",
    "names_of",
    "parameters_for",
    "snippets",
]
