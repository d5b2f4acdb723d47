"""The guarded server of the page: access control, and our style and script in viser's page."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http
import io
import ipaddress
import json
import logging
import re
import reprlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import viser
import websockets.asyncio.server
from viser import _messages
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ..core.errors import ArgumentError, MissingError

HERE = Path(__file__).parent


def dressed(response: Response) -> Response:
    """Return a response, with our style and script if it is the page."""
    if response.headers.get('Content-Type', '').startswith('text/html') and response.body:
        response.body = _with_ours(bytes(response.body), response.headers.get('Content-Encoding', '') == 'gzip')
        del response.headers['Content-Length']
        response.headers['Content-Length'] = str(len(response.body))
    return response


@lru_cache(maxsize=2)
def _with_ours(page: bytes, zipped: bool) -> bytes:
    text = gzip.decompress(page) if zipped else page
    style, script = ((HERE / name).read_bytes() for name in ('page.css', 'page.js'))
    ours = b'<style>' + style + b'</style>\n<script>' + script + b'</script>\n</head>'
    text = text.replace(b'</head>', ours, 1).replace(b'<title>Viser</title>', b'<title>Krang dynamics</title>', 1)
    return gzip.compress(text) if zipped else text


VISER = '1.1.1'  # the checked version: it connects to no other server; also in requirements.txt and setup.py
HOST = re.compile(r'(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?')
NAME = re.compile(r'[a-z0-9]([a-z0-9._-]*[a-z0-9])?')
EVERYWHERE = ('', '0.0.0.0', '::')  # noqa: S104 (addresses to listen on, never names of a host)


class Access:
    """Names of this machine; requests to other names are refused."""

    def __init__(self, served_on: str, allowed_hosts: Iterable[str] = ()) -> None:
        """Allow loopback, the addresses and the name of this machine, `served_on`, and `allowed_hosts`."""
        name = socket.gethostname().lower()
        short = name.split('.')[0]
        self._names = {'localhost', name, short, f'{short}.local', *map(_checked, allowed_hosts)}
        self._served_on = served_on
        if served_on not in EVERYWHERE:
            self._names.add(served_on.lower())

    def url(self, port: int) -> str:
        """Return the URL for a browser on this machine."""
        host = 'localhost' if self._served_on in EVERYWHERE else self._served_on
        return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'

    def refusal(self, hosts: Sequence[str], origins: Sequence[str], *, handshake: bool) -> str:
        """Return the reason of a refusal, given all `Host` and `Origin` headers of a request, or ''.

        A handshake opens a websocket and must come from the page itself; a browser always sends its `Origin`.
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
    """Return whether an origin is that of the page at http(s)://host."""
    if origin not in (f'http://{host}', f'https://{host}'):
        default = {'http': ':80', 'https': ':443'}.get(urlsplit(origin).scheme, '')
        return bool(default) and origin + default in (f'http://{host}', f'https://{host}')
    return True


def _is_address_of_this_machine(text: str) -> bool:
    """Return whether this machine can listen on an address. Addresses, unlike names, cannot be rebound by DNS."""
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


DANGEROUS = (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect)  # opens a public tunnel to this server
SAID, LONGEST = '/said?', 2000
_opening = threading.Lock()

Said = dict[str, str]
Answer = Callable[[ServerConnection, Request], Response | None]


class Guard:
    """Answers requests before viser: refuses foreign ones, and adds headers that restrict the browser."""

    def __init__(self, access: Access, refused: Callable[[str], None], said: Callable[[Said], None]) -> None:
        self._access, self._refused, self._said = access, refused, said
        self.viser: Answer | None = None  # answers accepted requests
        self.open = False

    def __call__(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return an answer to a request, or None for a handshake that may go on."""
        if self.viser is None or not self.open:
            return _words(http.HTTPStatus.SERVICE_UNAVAILABLE, 'not yet open')
        hosts, origins = request.headers.get_all('Host'), request.headers.get_all('Origin')
        handshake = bool(request.headers.get_all('Upgrade'))
        if reason := self._access.refusal(hosts, origins, handshake=handshake):
            self._refused(reason)
            return _words(http.HTTPStatus.FORBIDDEN, f'Refused: {reason}.\n')
        if request.path.startswith(SAID) and request.headers.get_all('X-Page') == ['krang']:  # only our script sends it
            return self._hear(request.path.removeprefix(SAID))
        if not handshake and '?' in request.path:  # viser's page would connect to any server that the query names
            return _words(http.HTTPStatus.SEE_OTHER, '', Location='/')
        response = self.viser(connection, request)
        if response is None:
            return None
        response.headers.update(_protection(hosts[0]))
        return dressed(response)

    def _hear(self, words: str) -> Response:
        """Pass on a message of our script: a JSON object whose values are strings."""
        try:
            said = json.loads(unquote(words)) if len(words) < LONGEST else None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
            return _words(http.HTTPStatus.BAD_REQUEST, 'not understood')
        self._said(said)
        return _words(http.HTTPStatus.OK, '')


def _protection(host: str) -> dict[str, str]:
    """Return headers that forbid the browser to frame the page or connect it to other servers."""
    policy = (
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'",  # viser's page creates its workers from strings
        f"connect-src 'self' ws://{host} wss://{host} data: blob:",
        "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "object-src 'none'",
    )  # fmt: skip
    return {
        'Content-Security-Policy': '; '.join(policy),
        'X-Frame-Options': 'DENY',
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-cache',
    }


def _words(status: http.HTTPStatus, words: str, **more: str) -> Response:
    body = words.encode()
    headers = Headers(**more)
    headers.update({'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': str(len(body)),
                    'X-Content-Type-Options': 'nosniff', 'Connection': 'close'})  # fmt: skip
    return Response(status, status.phrase, headers, body)


def guarded_server(
    host: str, port: int, access: Access, refused: Callable[[str], None], said: Callable[[Said], None] = lambda _: None
) -> viser.ViserServer:
    """Return viser's server behind a guard, or raise `MissingError` and close it.

    `refused` is called with a reason, `said` with a message of our script, both on the server's thread.
    """
    guard = Guard(access, refused, said)
    logging.getLogger('websockets.server').setLevel(logging.CRITICAL)  # no tracebacks for port scans
    with contextlib.redirect_stdout(io.StringIO()), _placed(guard):  # no greeting of viser
        server = viser.ViserServer(host=host, port=port, label='Krang dynamics', verbose=False)
    try:
        for message in DANGEROUS:
            server._websock_server.unregister_handler(message)
        placed = guard.viser is not None
    except (AttributeError, AssertionError):
        placed = False
    if not placed:
        quietly_stop(server)
        found = f'viser {viser.__version__} is, and would let every web page command the robot'
        raise MissingError(f'viser {VISER}', 'the page', f'{found}; pip install viser=={VISER}')
    guard.open = True
    return server


def quietly_stop(server: viser.ViserServer) -> None:
    """Stop the server and end its connections, without output of viser."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


GOODBYE = 0.3  # s, that browsers have to close their connections when the server stops


class _Serve(websockets.asyncio.server.serve):
    """Serves, and at the end aborts connections that do not close.

    A browser also opens connections in advance, on which it says nothing. websockets would wait for 10 s for each.
    """

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        closed = asyncio.ensure_future(self.server.wait_closed())
        while not (await asyncio.wait([closed], timeout=GOODBYE))[0]:
            for connection in list(self.server.handlers):
                connection.transport.abort()


@contextlib.contextmanager
def _placed(guard: Guard) -> Iterator[None]:
    """Put the guard before a server that is started in this context."""
    serve = websockets.asyncio.server.serve

    def guarded_serve(*arguments: Any, process_request: Answer | None = None, **others: Any) -> Any:
        guard.viser = process_request
        return _Serve(*arguments, process_request=guard, **others)

    with _opening:
        setattr(websockets.asyncio.server, 'serve', guarded_serve)  # noqa: B010 (mypy reads it as a class)
        try:
            yield
        finally:
            setattr(websockets.asyncio.server, 'serve', serve)  # noqa: B010 (as above)
