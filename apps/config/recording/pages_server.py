"""Serves the recorded engines' /metrics pages over HTTP, as they would look now, for the product's own scraper."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from apps.config.recording.schedule import Schedule


class PagesServer:
    """http://127.0.0.1:<port>/<replica>/metrics. While an engine is down it closes the connection without an answer."""

    def __init__(self, schedule: Schedule, *, port: int) -> None:
        self._server = _bound(port, _handler(schedule))
        self.port = int(self._server.server_address[1])

    def start(self) -> None:
        Thread(target=self._server.serve_forever, name="metrics pages", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _bound(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """On the wanted port, so that targets keep their addresses; on any free one where that is taken."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), handler)


def _handler(schedule: Schedule) -> type[BaseHTTPRequestHandler]:
    replicas = {f"/{replica}/metrics": replica for replica in schedule.recording.pages}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            replica = replicas.get(self.path)
            if replica is None:
                self.send_error(404)
                return
            page = schedule.page(replica, time.time())
            if page is None:
                self.close_connection = True
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes every 15 s are not worth a line each."""

    return Handler
