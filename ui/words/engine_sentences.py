"""The sentences with which the engine refuses, found by reading its source.

    raise ContextFullError(f"The context of {length:,} tokens is full; {_REMEDY}.")

gives "The context of {length} tokens is full; {remedy}." and, by itself, what `_REMEDY` says. A
text may come by a name, a function, an argument or a field; each is followed to where it is
written. They come into the files of translations with a comment, by which `ui/words/refusals.py`
knows what it is to recognise.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[2] / "engine"
# What is read of a call, by the place and the name of its argument; of other errors, the first.
READ = {
    "SettingError": {"setting": 0, "value": 1, "problem": 2, "remedy": 3},
    "Wrong": {"problem": 0, "remedy": 1},  # which becomes a TraceError or a MeasurementError
    "_notice": {"message": 0},
    "progress": {"what": 0},  # what happens while a model is loaded
    "Verdict": {"what": 2},  # of a text, by a parser that may have words of its own
    "_NotJudgedError": {"reason": 0},
}
NOTES = "snippets"  # a folder whose texts are notes, but for those in lists: the lines of code
MAY_BE_NAMES = {"setting", "value", "what"}  # of which only fixed prose is read
KEEPING = {"strip", "rstrip", "lstrip", "removesuffix", "removeprefix", "format", "capitalize"}
MOST = 40  # templates of one text
FIELDS = {"problem", "remedy", "takes"}  # that hold such texts
PLAIN = {"name"}  # properties of no words for reading
FUNCTION = (ast.FunctionDef, ast.Lambda)
CODE = re.compile(r"\n| = |^-")  # what notes do not have
PLACE = re.compile(r"\{\w+\}")
PROSE = re.compile(r"(?<![\w.])[A-Za-z]{2,}(?![\w(=]|\.\w)")

Templates = tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """Where the engine makes an error.

    Attributes:
        place: file and line.
        sentences: what it may say, as templates; a SettingError's problem and remedy apart.
        is_read: whether all of it was found.
    """

    place: str
    sentences: Templates
    is_read: bool


def engine_sentences() -> list[str]:
    """All of them, as templates with named places; each once."""
    return _source().sentences()


def sites() -> list[Site]:
    """Every place where the engine makes an error that a person may see."""
    return _source().sites()


def fixed(template: str) -> str:
    """What stands in a template beside its places."""
    return PLACE.sub("", template).replace("{{", "{").replace("}}", "}")


def is_prose(template: str) -> bool:
    """Whether somebody reads words in it, and not a name of the code alone."""
    return PROSE.search(fixed(template)) is not None


class _Source:
    """The code of the engine: who is called, what names, fields and functions hold."""

    def __init__(self, folder: Path) -> None:
        self._above: dict[ast.AST, ast.AST] = {}
        self._file: dict[ast.AST, Path] = {}
        self._constants: dict[Path, dict[str, list[ast.expr]]] = {}
        self._functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        self._calls: dict[str, list[ast.Call]] = defaultdict(list)
        self._fields: dict[str, list[ast.expr]] = defaultdict(list)
        self._known: dict[ast.expr, Templates] = {}
        self._parts: dict[str, None] = {}  # texts that come in a place of another
        self._replaced: list[tuple[str, str]] = []  # in the message of another error
        self._sites: list[Site] = []
        self._errors = _names_of_errors(folder)
        self._folder = folder
        for file in sorted(folder.rglob("*.py")):
            self._take_in(file, ast.parse(file.read_text("utf-8")))

    def _take_in(self, file: Path, tree: ast.Module) -> None:
        constants: dict[str, list[ast.expr]] = defaultdict(list)
        for node in tree.body:
            for name, value in _assigned(node):
                constants[name].append(value)
        self._constants[file] = constants
        self._file[tree] = file
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self._above[child] = node
            if isinstance(node, ast.FunctionDef):
                self._functions[node.name].append(node)
            elif isinstance(node, ast.Call):
                self._calls[_called(node)].append(node)
                if _called(node) == "append" and node.args:
                    self._fields[_name(node.func.value)].append(ast.List([node.args[0]]))
                if _called(node)[:1].isupper():
                    for keyword in node.keywords:
                        self._fields[keyword.arg or ""].append(keyword.value)
            elif isinstance(node, ast.ClassDef):
                for one in node.body:
                    for name, value in _assigned(one):
                        self._fields[name].append(value)
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Attribute) or _name(target) == "notices":
                    self._fields[_name(target)].append(node.value)

    # --- errors -----------------------------------------------------------------------------------

    def sites(self) -> list[Site]:
        if not self._sites:
            calls = [(name, call) for name in {*self._errors, *READ} for call in self._calls[name]]
            self._sites = sorted(
                (self._site(name, call) for name, call in calls), key=lambda site: site.place
            )
        return self._sites

    def sentences(self) -> list[str]:
        found = dict.fromkeys(one for site in self.sites() for one in site.sentences)
        found |= dict.fromkeys(self._noted())
        found |= self._parts
        for old, new in self._replaced:
            found |= {one.replace(old, new, 1): None for one in [*found] if one.startswith(old)}
        return [*found]

    def _noted(self) -> Iterator[str]:
        """What models and results have to say, and the notes of exported code."""
        for value in self._fields["notices"]:
            for one in self._held(value):
                yield from filter(is_prose, self._texts(one))
        for tree, file in self._file.items():
            if file.parent.name == NOTES:
                yield from self._notes(tree)

    def _notes(self, node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if is_docstring or isinstance(child, ast.List | ast.Raise):
                continue
            if isinstance(child, ast.Constant | ast.JoinedStr):
                for text in self._texts(child):
                    if len(PROSE.findall(text)) > 2 and " " in text and not CODE.search(text):
                        yield text
            else:
                yield from self._notes(child)

    def _site(self, name: str, call: ast.Call) -> Site:
        file = self._module(call)
        place = f"{file.relative_to(self._folder)}:{call.lineno}"
        sentences: dict[str, None] = {}
        is_read = True
        for read, at in READ.get(name, {"message": 0}).items():
            argument = _argument(call, read, at)
            if argument is None:
                continue
            texts = self._texts(argument)
            said = [text for text in texts if is_prose(text)]
            if read == "setting":
                said = [text for text in said if " " in text or text[0].isupper()]
            if read == "value" and not isinstance(argument, ast.Constant | ast.JoinedStr):
                said = []
            sentences |= dict.fromkeys(said)
            is_read = is_read and (bool(said) or read in MAY_BE_NAMES)
        return Site(place, tuple(sentences), is_read)

    # --- texts ------------------------------------------------------------------------------------

    def _texts(self, node: ast.expr) -> Templates:
        """What an expression may say, as templates; empty where that cannot be told."""
        if node not in self._known:
            self._known[node] = ()  # what leads back to itself adds nothing
            self._known[node] = self._followed(node)
        return self._known[node]

    def _followed(self, node: ast.expr) -> Templates:
        go = self._texts
        if isinstance(node, ast.Constant):
            return (_escaped(node.value),) if isinstance(node.value, str) else ()
        if isinstance(node, ast.JoinedStr):
            return self._filled(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = go(node.left), go(node.right)
            return _distinct(a + b for a, b in product(left, right))
        if isinstance(node, ast.IfExp):
            return _distinct((*go(node.body), *go(node.orelse)))
        if isinstance(node, ast.BoolOp):
            return _distinct(text for one in node.values for text in go(one))
        if isinstance(node, ast.Subscript):
            return _distinct(text for one in self._held(node.value) for text in go(one))
        if isinstance(node, ast.Name):
            return _distinct(text for one in self._values(node) for text in go(one))
        if isinstance(node, ast.Attribute):
            values = [*self._fields.get(node.attr, ())] if node.attr in FIELDS else []
            if node.attr not in PLAIN:
                values += self._results(node)  # a property
            return _distinct(text for one in values for text in go(one))
        if isinstance(node, ast.Call):
            return self._returned(node)
        return ()

    def _filled(self, node: ast.JoinedStr) -> Templates:
        """An f-string: its values become places, and texts that come in them parts of their own."""
        pieces: list[Templates] = []
        names: list[str] = []
        written = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        for part in node.values:
            if isinstance(part, ast.Constant):
                pieces.append((_escaped(part.value),))
                continue
            said = self._texts(part.value) if part.format_spec is None else ()
            said = tuple(text for text in said if is_prose(text)) if part.conversion < 0 else ()
            if said and not PROSE.search(written):
                pieces.append(said)
                continue
            # A single word in a place may as well be a name that somebody gave.
            self._parts |= dict.fromkeys(text for text in said if " " in text.strip())
            names.append(_named(part.value, names))
            pieces.append((f"{{{names[-1]}}}",))
        return _distinct("".join(one) for one in product(*pieces))

    def _returned(self, node: ast.Call) -> Templates:
        name = _called(node)
        if name in KEEPING and isinstance(node.func, ast.Attribute):
            return self._texts(node.func.value)
        if name == "get" and isinstance(node.func, ast.Attribute):
            held = [*self._held(node.func.value), *node.args[1:]]
            return _distinct(text for one in held for text in self._texts(one))
        if name in ("short", "str") and node.args:
            return self._texts(node.args[0])
        if name == "replace" and len(node.args) > 1:
            old, new = node.args[:2]
            if isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
                self._replaced.append((old.value, new.value))
            return ()
        if name == "next" and isinstance(node.args[0], ast.GeneratorExp):
            return self._texts(node.args[0].elt)
        return _distinct(text for one in self._results(node.func) for text in self._texts(one))

    def _results(self, function: ast.expr) -> Iterator[ast.expr]:
        """What a function returns: one of this class or module, or one that is imported."""
        known = self._functions.get(_name(function), ())
        here = [one for one in known if self._module(one) == self._module(function)]
        if isinstance(function, ast.Attribute) and _name(function.value) not in ("self", "cls"):
            return
        for one in here or (known if isinstance(function, ast.Name) else ()):
            for each in ast.walk(one):
                if isinstance(each, ast.Return) and each.value is not None:
                    yield each.value

    def _values(self, node: ast.Name) -> Iterator[ast.expr]:
        """All that a name may hold where it stands."""
        function = self._around(node, *FUNCTION)
        while function is not None:
            own = [
                value
                for one in ast.walk(function)
                for name, value in _assigned(one)
                if name == node.id
            ]
            if own:
                yield from own
                return
            given = self._given(function, node.id)
            if given is not None:
                yield from given
                return
            function = self._around(function, *FUNCTION)
        file = self._module(node)
        here = self._constants[file].get(node.id)
        if here is not None:
            yield from here
        elif node.id.lstrip("_").isupper():  # imported
            for constants in self._constants.values():
                yield from constants.get(node.id, ())

    def _given(self, function: ast.AST, name: str) -> list[ast.expr] | None:
        """What callers give for an argument of a function; None where it has no such argument."""
        arguments = function.args
        plain = [*arguments.posonlyargs, *arguments.args]
        named = [one.arg for one in (*plain, *arguments.kwonlyargs)]
        if name not in named:
            return None
        values = []
        first = len(plain) - len(arguments.defaults)
        if name in named[first : len(plain)]:
            values.append(arguments.defaults[named.index(name) - first])
        called, skipped = getattr(function, "name", ""), 0
        if named[0] in ("self", "cls"):
            skipped = 1
            if called == "__init__":
                called = self._around(function, ast.ClassDef).name
        for call in self._calls.get(called, ()):
            value = _argument(call, name, named.index(name) - skipped)
            if value is not None:
                values.append(value)
        return values

    def _held(self, node: ast.expr) -> Iterator[ast.expr]:
        """The values of a mapping or a row."""
        if isinstance(node, ast.Dict):
            yield from node.values
        elif isinstance(node, ast.Tuple | ast.List):
            yield from node.elts
        elif isinstance(node, ast.Name):
            for value in self._values(node):
                if isinstance(value, ast.Dict | ast.Tuple | ast.List):
                    yield from self._held(value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from self._held(node.func.value)

    def _around(self, node: ast.AST, *kinds: type) -> ast.AST | None:
        above = self._above.get(node)
        while above is not None and not isinstance(above, kinds):
            above = self._above.get(above)
        return above

    def _module(self, node: ast.AST) -> Path:
        return self._file[self._around(node, ast.Module)]


@cache
def _source() -> _Source:
    return _Source(ENGINE)


@cache
def _names_of_errors(folder: Path) -> frozenset[str]:
    tree = ast.parse((folder / "errors.py").read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.ClassDef))


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and what a statement puts into them."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _paired(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and node.value:
        yield from _paired(node.target, node.value)
    elif isinstance(node, ast.For | ast.comprehension):
        rows = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List) else ()
        for row in rows:
            yield from _paired(node.target, row)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _paired(one, other)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        yield from _paired(target, value.body)
        yield from _paired(target, value.orelse)


def _argument(call: ast.Call, name: str, at: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[at] if 0 <= at < len(call.args) else None


def _called(call: ast.Call) -> str:
    return _name(call.func)


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _named(node: ast.expr, taken: Iterable[str]) -> str:
    """A name for the place of an expression: what it is about, and a number where that is taken."""
    while True:
        if isinstance(node, ast.Call) and node.args and not isinstance(node.func, ast.Attribute):
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.args[0] if _called(node) == "join" else node.func
        elif isinstance(node, ast.BinOp):
            node = node.right if isinstance(node.left, ast.Constant) else node.left
        elif isinstance(node, ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.IfExp):
            node = node.body
        else:
            break
    name = _name(node).strip("_").lower() or "value"
    number = 2
    named = name
    while named in taken:
        named, number = f"{name}{number}", number + 1
    return named


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _distinct(texts: Iterable[str]) -> Templates:
    return tuple(dict.fromkeys(texts))[:MOST]
