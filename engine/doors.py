"""Doors of packages: a name is imported once it is asked for, since PyTorch takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def door(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return what a package has as ``__getattr__``, ``__dir__`` and ``__all__``.

    Args:
        package: its name.
        modules: by module in it, the names that this has, with spaces between them.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return get, lambda: sorted(places), sorted(places)
