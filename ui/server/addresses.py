"""Host names that this app answers to, and the origins of its own pages."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from streamlit import config

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class Addresses:
    """Addresses at which this app is served.

    Attributes:
        hosts: names that a Host header may have; ``*`` for all, ``*.x`` for subdomains of x.
        origins: origins of its pages in addition to its own address, such as that of a proxy that
            adds TLS: ``https://classroom.example``.
        scheme: ``https`` if this process serves TLS itself.
        base: path below which it is served, empty or with a leading slash.
    """

    hosts: tuple[str, ...]
    origins: tuple[str, ...] = ()
    scheme: str = "http"
    base: str = ""

    @classmethod
    def configured(cls) -> Addresses:
        """Read the addresses from Streamlit's options `server.*`."""
        base = (config.get_option("server.baseUrlPath") or "").strip("/")
        return cls(
            hosts=tuple(map(_plain_name, [*config.get_option("server.allowedHosts"), *_own()])),
            origins=tuple(map(_plain_origin, config.get_option("server.corsAllowedOrigins"))),
            scheme="https" if config.get_option("server.sslCertFile") else "http",
            base=f"/{base}" if base else "",
        )

    def has_host(self, host: str) -> bool:
        """Return whether a Host header names this app."""
        name = _plain_name(name_of(host) or "")
        return bool(name) and any(_fits(name, pattern) for pattern in self.hosts)

    def has_origin(self, origin: str, host: str) -> bool:
        """Return whether a page of this origin is one of the app's own, for a request to this host.

        Scheme, name and port must match exactly. Nothing that a proxy may have added to the request
        is trusted. The operator of a proxy configures the public address.
        """
        origin = _plain_origin(origin)
        return origin == _plain_origin(self.origin(host)) or origin in self.origins

    def origin(self, host: str) -> str:
        """Return the origin of pages served from this host."""
        return f"{self.scheme}://{host}"

    def path(self, path: str) -> str:
        """Return a request's path without the base path."""
        return path.removeprefix(self.base)


def name_of(host: str) -> str | None:
    """Return the host name or IP address in a Host header, without the port; None if malformed."""
    found = _HOST.fullmatch(host)
    return found.group(1) if found else None


def allow_own_address() -> None:
    """Add the address that the server listens on to Streamlit's own list of allowed hosts."""
    hosts = config.get_option("server.allowedHosts")
    config.set_option("server.allowedHosts", list(dict.fromkeys([*hosts, *_own()])))


def _own() -> list[str]:
    """Return the address that the server listens on; if it listens on all, the local ones."""
    address = config.get_option("server.address") or "0.0.0.0"
    try:
        is_all = ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return [address] if name_of(address) else []
    return ["127.0.0.1", "localhost"] if is_all else [address]


def _plain_name(name: str) -> str:
    return name.strip().strip("[]").lower().rstrip(".")


def _plain_origin(origin: str) -> str:
    origin = origin.strip().lower().rstrip("/")
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition("://")[0], ""))


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return pattern in ("*", name)
