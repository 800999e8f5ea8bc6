"""Results as Markdown, ready for the model card."""

from collections.abc import Iterable, Sequence

Cell = str | int | float | None


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], digits: int = 3) -> str:
    """Format a table: words left-aligned, numbers right-aligned, None as a dash.

    Args:
        digits: decimals of floats; whole numbers get thousands separators.
    """
    rows = [list(row) for row in rows]
    numeric = [
        any(isinstance(row[column], (int, float)) for row in rows) for column in range(len(head))
    ]
    lines = [_line(head), _line("---:" if right else "---" for right in numeric)]
    lines += [_line(_cell(cell, digits) for cell in row) for row in rows]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, digits: int) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell.replace("|", "&#124;").replace("\n", " ")
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.{digits}f}"


def heading(text: str) -> str:
    """Format a line that names the table below it, with Markdown's required blank lines."""
    return f"\n**{text}**\n"


def counted(number: int, noun: str) -> str:
    """Format a count: `1 step`, `2 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def code(text: str) -> str:
    """Format a text whose spaces matter; line breaks are visible."""
    shown = text.replace("\n", "↵").replace("`", "'")
    return f"`{shown}`"


def quotation(prompt: str, text: str) -> str:
    """Format a prompt in bold and its continuation, as a block quotation."""
    # Bold marks must touch the words, so spaces at the ends of a line stay outside.
    head = "\n".join(_bold(line) for line in prompt.split("\n"))
    lines = (head + _escaped(text)).rstrip("\n").split("\n")
    quoted = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        quoted.append(f"> {line}{'<br>' if line and after else ''}".rstrip())
    return "\n".join(quoted)


def _bold(line: str) -> str:
    words = line.strip(" ")
    return line.replace(words, f"**{_escaped(words)}**") if words else line


def _escaped(text: str) -> str:
    for sign in "\\*_[]#~":
        text = text.replace(sign, "\\" + sign)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "&#96;")
