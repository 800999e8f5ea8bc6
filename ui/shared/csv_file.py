"""Tables as CSV files that are opened in spreadsheets."""

from __future__ import annotations

import pandas as pd

NOTE = "A text that a spreadsheet would run as a formula has an apostrophe before it."
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of one


def spreadsheet_csv(frame: pd.DataFrame) -> bytes:
    """A table as UTF-8 CSV; a text that would be run as a formula has an apostrophe before it.

    A model writes any text, and a spreadsheet that opens ``=HYPERLINK(...)`` does what it says
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    safe = frame.copy()
    for name in safe.columns:
        if pd.api.types.is_numeric_dtype(safe[name]):
            continue
        texts = safe[name].map(lambda text: isinstance(text, str) and text.startswith(_FORMULA))
        safe.loc[texts.astype(bool), name] = "'" + safe.loc[texts.astype(bool), name]
    # This line end, of RFC 4180, also has a carriage return within a text quoted.
    return safe.to_csv(index=False, lineterminator="\r\n").encode("utf-8", "replace")
