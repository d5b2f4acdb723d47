"""viser's server behind a guard that asks every connection where it comes from.

viser has no hook for this, so the guard is put in where viser opens its port. If a version of viser does that in
another way, no server is left open: `guarded_server` raises.
"""

from __future__ import annotations

import contextlib
import http
import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import viser
import websockets.asyncio.server
from viser import _messages
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ..core.errors import MissingError
from .access import VISER, Access
from .front import dressed

DANGEROUS = (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect)  # opens a public tunnel to this server
SAID, LONGEST = '/said?', 2000
_opening = threading.Lock()

Said = dict[str, str]
Answer = Callable[[ServerConnection, Request], Response | None]


class Guard:
    """Answers before viser does: refuses strangers, and tells browsers to do the same."""

    def __init__(self, access: Access, refused: Callable[[str], None], said: Callable[[Said], None]) -> None:
        self._access, self._refused, self._said = access, refused, said
        self.viser: Answer | None = None  # what answers those who are not refused
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
        if request.path.startswith(SAID) and request.headers.get_all('X-Page') == ['krang']:  # no form, no image has it
            return self._hear(request.path.removeprefix(SAID))
        if not handshake and '?' in request.path:  # viser's page would connect to any server that the query names
            return _words(http.HTTPStatus.SEE_OTHER, '', Location='/')
        response = self.viser(connection, request)
        if response is None:
            return None
        response.headers.update(_protection(hosts[0]))
        return dressed(response)

    def _hear(self, words: str) -> Response:
        """Hand on what our script says: one object whose values are texts."""
        try:
            said = json.loads(unquote(words)) if len(words) < LONGEST else None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
            return _words(http.HTTPStatus.BAD_REQUEST, 'not understood')
        self._said(said)
        return _words(http.HTTPStatus.OK, '')


def _protection(host: str) -> dict[str, str]:
    """Return headers that let a browser neither frame the page nor connect it to anybody else."""
    policy = (
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'",  # viser's page makes its workers of strings
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
    """Return viser's server with a guard before it, or raise `MissingError` and leave nothing open.

    `refused` is called with a reason, `said` with what our script in the page says, both on the server's thread.
    """
    guard = Guard(access, refused, said)
    logging.getLogger('websockets.server').setLevel(logging.CRITICAL)  # a port scan is no traceback of ours
    with contextlib.redirect_stdout(io.StringIO()), _placed(guard):  # viser greets; ours names the address in one line
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
    """End the server without viser's word on it."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


@contextlib.contextmanager
def _placed(guard: Guard) -> Iterator[None]:
    """Let a server that is started within ask the guard first."""
    serve = websockets.asyncio.server.serve

    def guarded_serve(*arguments: Any, process_request: Answer | None = None, **others: Any) -> Any:
        guard.viser = process_request
        return serve(*arguments, process_request=guard, **others)

    with _opening:
        setattr(websockets.asyncio.server, 'serve', guarded_serve)  # noqa: B010 (mypy takes it for a class)
        try:
            yield
        finally:
            setattr(websockets.asyncio.server, 'serve', serve)  # noqa: B010 (as above)
