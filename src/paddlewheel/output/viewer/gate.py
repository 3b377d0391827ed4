"""The door of the viewer: who may come in is decided before a byte reaches the server behind it.

The server of the page listens at a port of this machine that nobody else is told. The gate listens where the user
wants, reads the head of each request, and passes on only what is allowed:

- a page of another site may not talk to the viewer (its `Origin` is not this host);
- at a loopback address, requests must be for one (`Host`), so that no name of another site can be made to point here;
- at any other address, requests must bring the token, in the link or in the cookie that the link sets.

Who can log in to this very machine can still find the port behind it: the token keeps out the network.
"""

import asyncio
import contextlib
import errno
import hmac
import ipaddress
import socket
import threading
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

LONGEST = 16_384  # bytes of the head of a request
PATIENCE = 10.0  # s for it to arrive
CHUNK = 1 << 16
AHEAD = 1 << 18  # bytes that the system may keep for a tab that does not take them: a few frames
HERE = "127.0.0.1"


class Request(NamedTuple):
    """The head of a request: what is asked for, and its headers by their names in small letters."""

    target: str
    headers: dict[str, str]

    @classmethod
    def of(cls, head: bytes) -> "Request":
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
        if method != "GET" or not version.startswith("HTTP/1."):
            raise ValueError(f"{method}: expected GET")
        pairs = (line.partition(":") for line in lines if line)
        return cls(target, {name.strip().lower(): value.strip() for name, _, value in pairs})

    @property
    def upgrades(self) -> bool:
        """Whether it asks for a web socket."""
        return self.headers.get("upgrade", "").lower() == "websocket"

    @property
    def host(self) -> str:
        return (urlsplit(f"//{self.headers.get('host', '')}").hostname or "").lower()

    def cookie(self, name: str) -> str:
        pairs = (part.strip().partition("=") for part in self.headers.get("cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), "")

    def token(self) -> str:
        """The one in the link."""
        return parse_qs(urlsplit(self.target).query).get("token", [""])[0]


def is_loopback(host: str) -> bool:
    """Whether an address or name is one that only this machine reaches."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"


def verdict(request: Request, token: str | None, cookie: str) -> tuple[str, str]:
    """What becomes of a request: ("pass", ""), ("welcome", "") to whom a cookie is due, or ("refuse", why)."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        return "refuse", "a page of another site may not use the viewer"
    if token is None:
        return ("pass", "") if is_loopback(request.host) else ("refuse", "open the viewer by its own address")
    if _same(request.token(), token):
        return "pass" if request.upgrades else "welcome", ""
    if _same(request.cookie(cookie), token):
        return "pass", ""
    return "refuse", "open the link that `paddlewheel view` printed: it has a token in it"


class Gate:
    """Listens at a host and port, in a thread of its own, and passes on what may come in to a port of this machine."""

    def __init__(self, host: str, port: int, inner: int, token: str | None):
        self.host, self.port, self.token = host, port, token
        self._inner = inner
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._ready, self._failure, self._server = threading.Event(), None, None
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise _explained(self._failure, host, port)

    @property
    def url(self) -> str:
        """The link for the browser; of all addresses of this machine, its name."""
        host = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def close(self) -> None:
        """Stop listening, and cut all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._server = self._loop.run_until_complete(asyncio.start_server(self._come, self.host, self.port))
        except OSError as error:
            self._failure = error
            self._loop.close()
            self._ready.set()
            return
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        self._server.close()
        open_ones = asyncio.all_tasks(self._loop)
        for task in open_ones:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*open_ones, return_exceptions=True))
        self._loop.close()

    async def _come(self, reader, writer) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            request = Request.of(head)
            what, why = verdict(request, self.token, self._cookie)
            if what == "refuse":
                await _answer(writer, "403 Forbidden", why)
            elif what == "welcome":
                cookie = f"Set-Cookie: {self._cookie}={self.token}; HttpOnly; SameSite=Lax; Path=/"
                await _answer(writer, "303 See Other", "", cookie, "Location: /")
            else:
                await self._pass_on(head, request, reader, writer)
        except (asyncio.LimitOverrunError, ValueError):
            await _answer(writer, "400 Bad Request", "this is not a request for a page")
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # A tab that was closed, or the gate; or nothing came, and then nothing is said: browsers open connections
            # ahead, and would take it as the answer to what they ask later.
            pass
        finally:
            writer.close()

    async def _pass_on(self, head, request, reader, writer) -> None:
        """Of a web socket both directions; else only the answer, so that no second request slips through."""
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, AHEAD)
        inner = socket.socket()
        inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, AHEAD)
        inner.setblocking(False)
        await self._loop.sock_connect(inner, (HERE, self._inner))
        inner_reader, inner_writer = await asyncio.open_connection(sock=inner)
        try:
            inner_writer.write(head)
            await inner_writer.drain()
            ways = [asyncio.ensure_future(_pump(inner_reader, writer))]
            if request.upgrades:
                ways.append(asyncio.ensure_future(_pump(reader, inner_writer)))
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            inner_writer.close()

    @property
    def _cookie(self) -> str:
        return f"paddlewheel-{self.port}"  # cookies do not know ports


async def _pump(reader, writer) -> None:
    """Pass bytes on no faster than they are taken: a slow reader is felt at the source, and nothing queues here."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


async def _answer(writer, status, text, *headers) -> None:
    body = f"{text}\n".encode()
    head = [f"HTTP/1.1 {status}", "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    with contextlib.suppress(OSError):
        writer.write("\r\n".join([*head, "Connection: close", *headers, "", ""]).encode() + body)
        await writer.drain()


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _explained(error: OSError, host, port) -> ValueError:
    if error.errno == errno.EADDRINUSE:
        return ValueError(f"port {port} of {host} is in use, perhaps by another viewer; choose another with --port")
    return ValueError(f"cannot listen at port {port} of {host}: {error.strerror or error}")
