"""Tables as CSV files for spreadsheets."""

from __future__ import annotations

import csv
import re

import pandas as pd

from ui.words.language import marked

NOTE = marked("A text that a spreadsheet would run as a formula has an apostrophe before it.")

# Positions where a cell may begin: at the start of a text and, in a spreadsheet whose locale
# separates cells by `;`, after a `;` within the text. In such a locale, the quotation marks around
# a text are in the middle of a cell, so they protect nothing, and a line break ends the row. Blanks
# before a formula are skipped. None of them is a separator, so that no text is searched twice.
_FORMULA = re.compile(
    r"^(?=[\t\r\n\x00])"
    r"|((?:^|[;\n\r\t])(?:[^\S\n\r\t]|[\x00-\x08\x0e-\x1f\ufeff])*+)(?=[=+\-@＝＋－＠])"
)


def spreadsheet_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as UTF-8 CSV, with an apostrophe before every text that is a formula.

    A model may write any text, and a spreadsheet that opens ``=HYPERLINK(...)`` executes it
    (https://owasp.org/www-community/attacks/CSV_Injection). Every text is quoted.
    """
    safe = frame.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            safe[name] = safe[name].map(_harmless)
    # With this line end, of RFC 4180, a carriage return within a text is quoted, too.
    text = safe.to_csv(index=False, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8", "replace")


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", value)
