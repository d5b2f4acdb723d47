"""Only the page itself can command the robot: raw handshakes, and a real browser on a foreign page."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from krang_dynamics_ros.core.errors import ArgumentError, MissingError
from krang_dynamics_ros.page.server import VISER, Access

from ..browser import Browser, browser
from ..robots import ROOT

viser = pytest.importorskip('viser', reason='viser is not installed: there is no page')

serving = pytest.importorskip('websockets.asyncio.server')
guarded = pytest.importorskip('krang_dynamics_ros.page.server')

REFUSED, SWITCHED, FINE = 403, 101, 200


HANDSHAKE = (
    'GET / HTTP/1.1\r\nHost: localhost:{0}\r\nOrigin: http://localhost:{0}\r\n'
    'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
    f'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: viser-v{VISER}\r\n\r\n'
)


class Served:
    """The page's server with something on it, and what it refused."""

    def __init__(self, *allowed: str, host: str = '127.0.0.1') -> None:
        self.refusals: list[str] = []
        self.said: list[dict[str, str]] = []
        self.server = guarded.guarded_server(
            host, free_port(), Access(host, allowed), self.refusals.append, self.said.append
        )
        self.port = self.server.get_port()
        self.server.gui.add_markdown('Here is the page')
        self.pressed = threading.Event()

    def ask(self, host: str, *origins: str, handshake: bool = True, path: str = '/', address: str = '127.0.0.1') -> int:
        """Return the status of the answer to a request with these headers."""
        return self.answer(host, *origins, handshake=handshake, path=path, address=address).status

    def answer(
        self, host: str, *origins: str, handshake: bool = True, path: str = '/', address: str = '127.0.0.1'
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(address, self.port, timeout=30)
        connection.putrequest('GET', path, skip_host=True)
        connection.putheader('Host', host)
        for origin in origins:
            connection.putheader('Origin', origin)
        if handshake:
            for name, value in (
                ('Upgrade', 'websocket'), ('Connection', 'Upgrade'), ('Sec-WebSocket-Version', '13'),
                ('Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='), ('Sec-WebSocket-Protocol', f'viser-v{VISER}'),
            ):  # fmt: skip
                connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        connection.close()
        return response


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope='module')
def served() -> Iterator[Served]:
    started = Served('robot.example')
    yield started
    guarded.quietly_stop(started.server)


@pytest.mark.parametrize(
    'host',
    ['localhost', '127.0.0.1', 'LOCALHOST', '[::1]', '127.9.9.9', socket.gethostname(), 'robot.example'],
)
@pytest.mark.parametrize('port', ['', ':9000'])  # of a tunnel
def test_the_page_itself_is_let_in(served: Served, host: str, port: str) -> None:
    assert served.ask(host + port, handshake=False) == FINE
    assert served.ask(host + port, f'http://{host}{port}'.lower()) == SWITCHED
    assert served.ask(host + port, f'https://{host}{port}'.lower()) == SWITCHED  # a proxy may speak TLS


@pytest.mark.parametrize(
    'origins',
    [
        [], ['null'], [''], ['http://evil.example'], ['http://localhost'], ['http://localhost:9001'],
        ['http://127.0.0.1:9000'], ['http://localhost:9000.evil.example'], ['http://evil@localhost:9000'],
        ['http://localhost:9000/'], ['file://'], ['chrome-extension://localhost:9000'], ['localhost:9000'],
        ['http://robot.example'], ['http://localhost:9000', 'http://evil.example'],
        ['http://localhost:9000', 'http://localhost:9000'], ['http://localhost:90000'],
    ],
)  # fmt: skip
def test_a_handshake_from_elsewhere_is_refused(served: Served, origins: list[str]) -> None:
    before = len(served.refusals)
    assert served.ask('localhost:9000', *origins) == REFUSED
    assert len(served.refusals) == before + 1
    assert 'Origin' in served.refusals[-1]


@pytest.mark.parametrize(
    'host',
    [
        'evil.example', 'localhost.evil.example', 'localhost.', '', '8.8.8.8', '0.0.0.0:80', '[::]',
        '[2001:db8::1]:80', 'localhost:x', 'localhost:80:80', 'evil.example@localhost', '127.0.0.1.evil.example',
        'localhost evil', 'xn--localhost', '2130706433', '224.0.0.1',
    ],
)  # fmt: skip
def test_a_name_that_is_not_ours_gets_nothing(served: Served, host: str) -> None:
    assert served.ask(host, f'http://{host}') == REFUSED
    answer = served.answer(host, handshake=False)
    assert answer.status == REFUSED
    assert 'allowed_hosts' in served.refusals[-1]


def test_default_ports_may_be_left_out(served: Served) -> None:
    assert served.ask('localhost:80', 'http://localhost') == SWITCHED
    assert served.ask('localhost:443', 'https://localhost') == SWITCHED
    assert served.ask('localhost:443', 'http://localhost') == REFUSED


def test_a_request_without_host_or_with_two_is_refused(served: Served) -> None:
    for hosts in ('', 'Host: localhost\r\nHost: evil.example\r\n'):
        with socket.create_connection(('127.0.0.1', served.port), timeout=30) as connection:
            connection.sendall(f'GET / HTTP/1.1\r\n{hosts}\r\n'.encode())
            assert connection.recv(100).startswith(b'HTTP/1.1 403')


def test_a_foreign_origin_gets_no_file_either(served: Served) -> None:
    assert served.ask('localhost', 'http://evil.example', handshake=False) == REFUSED
    assert served.ask('localhost', 'http://localhost', handshake=False) == FINE


def test_headers_keep_the_page_out_of_other_pages(served: Served) -> None:
    headers = served.answer('localhost:9000', handshake=False).headers
    assert headers['X-Frame-Options'] == 'DENY'
    policy = headers['Content-Security-Policy']
    assert "frame-ancestors 'none'" in policy
    assert "connect-src 'self' ws://localhost:9000 wss://localhost:9000 data: blob:;" in policy
    answer = served.answer('localhost', handshake=False, path='/?websocket=ws://evil.example')
    assert (answer.status, answer.headers['Location']) == (303, '/')


def test_ipv6() -> None:
    try:
        served = Served(host='::1')
    except OSError:
        pytest.skip('no IPv6 on this machine')
    assert served.ask('[::1]:9000', 'http://[::1]:9000', address='::1') == SWITCHED
    assert served.ask('[::1]:9000', 'http://[::1]:9001', address='::1') == REFUSED
    assert served.ask('[::2]:9000', 'http://[::2]:9000', address='::1') == REFUSED
    guarded.quietly_stop(served.server)


@pytest.mark.parametrize('name', ['http://robot.example', 'robot.example:80', '*', '*.example', 'a b', '-', 'a/b'])
def test_names_that_cannot_be_are_refused_at_once(name: str) -> None:
    with pytest.raises(ArgumentError, match='allowed_hosts'):
        Access('127.0.0.1', [name])


def test_only_requests_of_the_pages_own_script_are_accepted(served: Served) -> None:
    """A form or an image of a stranger can ask for any address here, but with no header of its own."""
    host = f'127.0.0.1:{served.port}'
    path = '/said?' + quote('{"plot": "q_1l"}')
    served.ask(host, handshake=False, path=path)
    assert not served.said
    connection = http.client.HTTPConnection('127.0.0.1', served.port, timeout=30)
    connection.request('GET', path, headers={'X-Page': 'krang'})
    assert connection.getresponse().status == FINE
    connection.close()
    assert served.said == [{'plot': 'q_1l'}]


def test_the_share_request_has_no_handler(served: Served) -> None:
    heard = {kind.__name__ for kind in served.server._websock_server._incoming_handlers}
    assert heard
    assert not {name for name in heard if 'Share' in name}


def test_a_viser_that_cannot_be_guarded_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    port, serve = free_port(), serving.serve
    monkeypatch.setattr(guarded, '_placed', lambda _: contextlib.nullcontext())
    with pytest.raises(MissingError, match=f'pip install viser=={VISER}'):
        guarded.guarded_server('127.0.0.1', port, Access('127.0.0.1'), print)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', port))
    assert serving.serve is serve


@pytest.mark.parametrize('handshake', [False, True])
def test_a_connection_that_does_not_close_does_not_hold_the_server(handshake: bool) -> None:
    served = Served()
    thread = served.server._websock_server._server_thread
    with socket.create_connection(('127.0.0.1', served.port)) as silent:  # as a browser opens one in advance
        if handshake:
            silent.sendall(HANDSHAKE.format(served.port).encode())
            assert silent.recv(12) == b'HTTP/1.1 101'
        guarded.quietly_stop(served.server)
        assert not thread.is_alive()


def test_one_version_of_viser_is_named_everywhere() -> None:
    assert viser.__version__ == VISER
    for name in ('requirements.txt', 'setup.py', 'docs/demo.md'):
        assert set(re.findall(r'viser==([\d.]+)', (ROOT / name).read_text())) == {VISER}, name


# In a real browser ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def site(body: str) -> Iterator[int]:
    """Serve a stranger's page, and return its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(FINE)
            self.send_header('Content-Type', 'text/html')
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None: ...

    stranger = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=stranger.serve_forever, daemon=True).start()
    yield stranger.server_port
    stranger.shutdown()
    stranger.server_close()


@contextlib.contextmanager
def tunnel(to: int) -> Iterator[int]:
    """Lead a port of this machine to another one, as `ssh -L` does."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(('127.0.0.1', to))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.create_server(('127.0.0.1', 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield int(listener.getsockname()[1])


@pytest.fixture(scope='module')
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    rebound = '--host-resolver-rules=MAP rebound.example 127.0.0.1'
    with browser(str(tmp_path_factory.mktemp('profile')), flags=(rebound,)) as started:
        yield started


OPEN = """
const done = arguments[arguments.length - 1];
const socket = new WebSocket(arguments[0], [arguments[1]]);
socket.onopen = () => done('open');
socket.onerror = () => done('refused');
"""


def opens(chromium: Browser, served: Served, host: str = '127.0.0.1') -> str:
    """Tell what becomes of a websocket that the page in front opens."""
    return str(chromium.driver.execute_async_script(OPEN, f'ws://{host}:{served.port}', f'viser-v{VISER}'))


def connected(chromium: Browser) -> Callable[[], bool]:
    return lambda: 'Here is the page' in chromium.text


def test_a_strangers_page_gets_no_websocket_and_no_frame(served: Served, chromium: Browser) -> None:
    body = f'<h1>Kittens</h1><iframe src="http://127.0.0.1:{served.port}" width="900" height="700"></iframe>'
    with site(body) as port:
        chromium.driver.get(f'http://127.0.0.1:{port}')
        assert opens(chromium, served) == 'refused'
        assert f'http://127.0.0.1:{port}' in served.refusals[-1]
        chromium.driver.switch_to.frame(0)
        assert 'Here is the page' not in chromium.text
        assert chromium.script('return document.querySelectorAll("canvas").length') == 0
        chromium.driver.switch_to.default_content()


def test_a_name_that_is_let_point_here_gets_nothing(served: Served, chromium: Browser) -> None:
    chromium.driver.get(f'http://rebound.example:{served.port}')
    assert 'Refused: Host' in chromium.text
    assert opens(chromium, served, 'rebound.example') == 'refused'


def test_the_page_works_through_a_tunnel_and_connects_to_no_other_host(served: Served, chromium: Browser) -> None:
    calls: list[Any] = []
    with tunnel(served.port) as port, socket.create_server(('127.0.0.1', 0)) as stranger:
        threading.Thread(target=lambda: _note(stranger, calls), daemon=True).start()
        evil = f'ws://127.0.0.1:{stranger.getsockname()[1]}'
        chromium.driver.get(f'http://localhost:{port}/?websocket={evil}')  # what a link on a stranger's page would say
        chromium.until(connected(chromium), 'the page connects to its own server')
        assert chromium.driver.execute_async_script(OPEN, evil, 'x') == 'refused'  # by the page's own policy
        assert not calls


def _note(server: socket.socket, calls: list[Any]) -> None:
    with contextlib.suppress(OSError):
        while True:
            calls.append(server.accept())
