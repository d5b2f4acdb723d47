"""What is put into the head of viser's page: our style and script, which do what viser's page cannot."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from websockets.http11 import Response

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
