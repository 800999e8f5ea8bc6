"""Tables as CSV files that are opened in spreadsheets."""

from __future__ import annotations

import csv
import re

import pandas as pd

from ui.words.language import marked

NOTE = marked("A text that a spreadsheet would run as a formula has an apostrophe before it.")

# Where a cell may begin: at the beginning of a text, and, in a spreadsheet of a country where `;`
# separates, after one within it. There the quotation marks around our texts stand in the middle of
# a cell, so they protect nothing, and a line break ends the row as well. Blanks before a formula
# are passed over; none of them is a separator, so that no text is looked through twice.
_FORMULA = re.compile(
    r"^(?=[\t\r\n\x00])"
    r"|((?:^|[;\n\r\t])(?:[^\S\n\r\t]|[\x00-\x08\x0e-\x1f\ufeff])*+)(?=[=+\-@＝＋－＠])"
)


def spreadsheet_csv(frame: pd.DataFrame) -> bytes:
    """A table as UTF-8 CSV; what would be run as a formula has an apostrophe before it.

    A model writes any text, and a spreadsheet that opens ``=HYPERLINK(...)`` does what it says
    (https://owasp.org/www-community/attacks/CSV_Injection). Every text is quoted.
    """
    safe = frame.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            safe[name] = safe[name].map(_harmless)
    # This line end, of RFC 4180, also has a carriage return within a text quoted.
    text = safe.to_csv(index=False, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8", "replace")


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", value)
