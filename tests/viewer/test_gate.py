"""Who may come in: decided before a byte reaches the page's server."""

import http.client
import socket
import threading

import pytest

import paddlewheel.output.viewer.gate
from paddlewheel.output.viewer.gate import Gate, Request, is_loopback, verdict

TOKEN = "correct-horse"


class Inner(threading.Thread):
    """A server that notes what it is asked, and answers a page, or on a web socket what it hears."""

    def __init__(self):
        super().__init__(daemon=True)
        self.heard = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection):
        with connection:
            while data := connection.recv(1 << 16):
                self.heard.append(data)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage" if data[:3] == b"GET" else data)

    def close(self):
        self._socket.close()


@pytest.fixture
def inner():
    inner = Inner()
    yield inner
    inner.close()


@pytest.fixture
def gate(inner):
    gates = []

    def make(token=None):
        gates.append(Gate("127.0.0.1", 0, inner.port, token))
        return gates[-1]

    yield make
    for each in gates:
        each.close()


def get(gate, target="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=20)
    connection.request("GET", target, headers={name.title(): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer


def test_at_home_the_page_is_open(gate, inner):
    opened = gate()
    assert opened.url == f"http://127.0.0.1:{opened.port}/"
    assert get(opened)[:2] == (200, "page")
    assert len(inner.heard) == 1


def test_without_the_token_nothing_gets_through(gate, inner):
    closed = gate(TOKEN)
    for target, headers in [("/", {}), ("/?token=wrong", {}), ("/", {"cookie": f"paddlewheel-{closed.port}=wrong"})]:
        status, text, _ = get(closed, target, **headers)
        assert status == 403
        assert "token" in text
    assert get(closed, "/", upgrade="websocket")[0] == 403
    assert inner.heard == []


def test_the_link_gives_a_cookie_and_the_cookie_lets_in(gate, inner):
    closed = gate(TOKEN)
    assert closed.url.endswith(f"/?token={TOKEN}")
    status, _, answer = get(closed, f"/?token={TOKEN}")
    assert (status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert inner.heard == []
    assert get(closed, "/", cookie=cookie.split(";")[0])[:2] == (200, "page")


def test_pages_of_other_sites_stay_outside(gate, inner):
    """They could else open a web socket to here, and drive the simulation."""
    opened = gate()
    status, text, _ = get(opened, upgrade="websocket", origin="http://evil.example")
    assert (status, text) == (403, "a page of another site may not use the viewer\n")
    assert get(opened, host="evil.example:8080")[0] == 403  # a name that was made to point here
    assert inner.heard == []
    assert get(opened, origin=f"http://127.0.0.1:{opened.port}")[0] == 200


def test_a_second_request_on_a_connection_is_not_passed_on(gate, inner):
    """It would not have been looked at."""
    opened = gate()
    with socket.create_connection(("127.0.0.1", opened.port), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"page" in connection.recv(1000)
        connection.sendall(b"GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.recv(1000)
    assert len(inner.heard) == 1


def test_a_web_socket_goes_both_ways(gate):
    opened = gate()
    with socket.create_connection(("127.0.0.1", opened.port), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n")
        assert b"200" in connection.recv(1000)
        connection.sendall(b"there and back")
        assert connection.recv(1000) == b"there and back"


@pytest.mark.parametrize(
    "said", [b"\x16\x03\x01\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x" * 70_000]
)
def test_nonsense_is_refused(gate, inner, said):
    with socket.create_connection(("127.0.0.1", gate().port), timeout=20) as connection:
        connection.sendall(said)
        assert b"400 Bad Request" in connection.recv(1000)
    assert inner.heard == []


def test_who_says_nothing_is_told_nothing(gate, monkeypatch):
    """A browser opens connections ahead: it would take what it hears as the answer to what it asks later."""
    monkeypatch.setattr(paddlewheel.output.viewer.gate, "PATIENCE", 0.1)
    with socket.create_connection(("127.0.0.1", gate().port), timeout=20) as connection:
        assert connection.recv(1000) == b""


def test_a_port_in_use_is_named(gate, inner):
    taken = gate().port
    with pytest.raises(ValueError, match=f"port {taken} of 127.0.0.1 is in use.*--port"):
        Gate("127.0.0.1", taken, inner.port, None)


def test_an_address_that_is_not_ours_is_named(inner):
    with pytest.raises(ValueError, match=r"cannot listen at port 0 of 192\.0\.2\.1"):
        Gate("192.0.2.1", 0, inner.port, None)


def test_a_closed_gate_frees_its_port(inner):
    first = Gate("127.0.0.1", 0, inner.port, None)
    first.close()
    second = Gate("127.0.0.1", first.port, inner.port, None)
    second.close()
    assert second.port == first.port


@pytest.mark.parametrize(
    ("host", "is_home"),
    [
        *((home, True) for home in ("127.0.0.1", "localhost", "::1", "127.9.9.9")),
        *((away, False) for away in ("0.0.0.0", "::", "192.168.1.2", "localhost.example", "")),
    ],
)
def test_what_is_loopback(host, is_home):
    assert is_loopback(host) is is_home


def test_the_token_of_a_web_socket_may_be_in_its_address():
    request = Request(f"/?token={TOKEN}", {"upgrade": "websocket", "host": "a:1"})
    assert verdict(request, TOKEN, "c") == ("pass", "")
