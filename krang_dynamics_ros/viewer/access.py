"""Who may open the page: browsers that name this machine, from the page itself, and nobody else.

A browser opens a websocket to this machine for any web page that asks for it. So a page of a stranger could command the
robot, either from its own origin, or under a name of its own that it lets point to this machine (DNS rebinding). The
headers `Host` and `Origin`, which no page can forge, tell both apart from the page that this machine serves.
"""

from __future__ import annotations

import ipaddress
import re
import reprlib
import socket
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from ..core.errors import ArgumentError

VISER = '1.1.1'  # the version of viser that is known to ask nobody else; requirements.txt and setup.py name it too
HOST = re.compile(r'(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?')
NAME = re.compile(r'[a-z0-9]([a-z0-9._-]*[a-z0-9])?')
EVERYWHERE = ('', '0.0.0.0', '::')  # noqa: S104 (as what a server may listen on; nobody is called so)


class Access:
    """The names of this machine, and what is refused because it was not asked under one of them."""

    def __init__(self, served_on: str, allowed_hosts: Iterable[str] = ()) -> None:
        """Allow loopback, this machine's addresses and its name, what it serves on, and names that somebody trusts."""
        name = socket.gethostname().lower()
        short = name.split('.')[0]
        self._names = {'localhost', name, short, f'{short}.local', *map(_checked, allowed_hosts)}
        self._served_on = served_on
        if served_on not in EVERYWHERE:
            self._names.add(served_on.lower())

    def url(self, port: int) -> str:
        """Return what to open in a browser on this machine."""
        host = 'localhost' if self._served_on in EVERYWHERE else self._served_on
        return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'

    def refusal(self, hosts: Sequence[str], origins: Sequence[str], *, handshake: bool) -> str:
        """Return why a request is refused, given all its `Host` and `Origin` headers, or nothing if it is not.

        A handshake opens a websocket, and must come from the page itself; a browser always says from where.
        """
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return (
                f'Host {_shown(hosts)} is no name of this machine. Open the page as localhost, or let the parameter '
                'allowed_hosts of the viewer node name this host'
            )
        if not origins and not handshake:
            return ''
        if len(origins) != 1 or not _is_at(origins[0].lower(), hosts[0].lower()):
            return f'Origin {_shown(origins)} is not the page at {hosts[0]}; a proxy must pass on Host as it came'
        return ''

    def _is_ours(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip('[]')
        return name in self._names or _is_address_of_this_machine(name)


def _is_at(origin: str, host: str) -> bool:
    """Tell whether an origin is what the page has whose address begins with http(s)://host."""
    if origin not in (f'http://{host}', f'https://{host}'):
        default = {'http': ':80', 'https': ':443'}.get(urlsplit(origin).scheme, '')
        return bool(default) and origin + default in (f'http://{host}', f'https://{host}')
    return True


def _is_address_of_this_machine(text: str) -> bool:
    """Tell whether it is an address that one can listen on here. Addresses cannot be rebound, so this only tidies."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if address.is_unspecified or address.is_multicast:
        return False
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((text, 0))
    except OSError:
        return False
    return True


def _checked(name: str) -> str:
    plain = name.lower().strip('[]')
    if not NAME.fullmatch(plain) and not _is_address(plain):
        raise ArgumentError(
            f"allowed_hosts: '{name}' must be a name or an address alone, without http://, port or *, as robot.example"
        )
    return plain


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _shown(values: Sequence[str]) -> str:
    return ' and '.join(reprlib.repr(value) for value in values) if values else '(none)'
