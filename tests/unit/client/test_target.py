from __future__ import annotations

import base64

import pytest

from benchgate import secrets
from benchgate.client.config import OptionError
from benchgate.client.wire.target import parse_target, proxy_for


@pytest.mark.parametrize(
    ("url", "api_path", "root_path"),
    [
        ("http://h:8000", "/v1", ""),
        ("http://h:8000/", "/v1", ""),
        ("http://h:8000/v1", "/v1", ""),
        ("http://h:8000/v1/", "/v1", ""),
        ("http://h/openai/v1", "/openai/v1", "/openai"),
        ("http://h/proxy", "/proxy/v1", "/proxy"),
        ("http://h/v1/chat/completions", "/v1", ""),
    ],
)
def test_a_base_url_works_with_and_without_its_path(url: str, api_path: str, root_path: str) -> None:
    target = parse_target(url, environment={})
    assert (target.api_path, target.root_path) == (api_path, root_path)


def test_an_ipv6_address_keeps_its_brackets_in_the_host_header() -> None:
    target = parse_target("http://[::1]:8000", environment={})
    assert (target.host, target.port, target.netloc) == ("::1", 8000, "[::1]:8000")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://h", "http://", "http://h:port", ""])
def test_what_is_no_url_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(OptionError, match="is no URL"):
        parse_target(url, environment={})


def test_a_missing_ca_file_is_named() -> None:
    with pytest.raises(OptionError, match=r"/none/ca\.pem does not exist"):
        parse_target("https://h", ca_file="/none/ca.pem", environment={})


def test_the_head_carries_the_key_and_asks_for_no_compression() -> None:
    target = parse_target("http://h:8000", environment={})
    head = target.head("POST", "/v1/x", length=7, api_key="abc", accept="text/event-stream", request_id="r-1").decode()
    assert head.startswith("POST /v1/x HTTP/1.1\r\nHost: h:8000\r\n")
    for line in ("Content-Length: 7", "Authorization: Bearer abc", "Accept-Encoding: identity", "X-Request-Id: r-1"):
        assert f"\r\n{line}\r\n" in head


def test_a_plain_request_through_a_proxy_names_the_whole_address() -> None:
    target = parse_target("http://server:8000", environment={"http_proxy": "http://me:long-p%40ss-word@proxy:3128"})
    head = target.head("GET", "/v1/models", length=0, api_key=None, accept="*/*").decode()
    assert head.startswith("GET http://server:8000/v1/models HTTP/1.1\r\nHost: server:8000\r\n")
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'me:long-p@ss-word').decode()}" in head
    assert target.connect_to == ("proxy", 3128)
    assert secrets.mask("the password is long-p@ss-word") == "the password is ***"


@pytest.mark.parametrize(
    ("scheme", "environment", "proxied"),
    [
        ("http", {"http_proxy": "http://p:1"}, True),
        ("http", {"HTTP_PROXY": "http://p:1"}, True),
        ("http", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, False),
        ("http", {"https_proxy": "http://p:1"}, False),
        ("https", {"HTTPS_PROXY": "p:1"}, True),
        ("https", {"ALL_PROXY": "http://p:1"}, True),
        ("http", {"http_proxy": ""}, False),
        ("http", {}, False),
    ],
)
def test_the_proxy_comes_from_the_variable_of_the_scheme(
    scheme: str, environment: dict[str, str], proxied: bool
) -> None:
    assert (proxy_for(scheme, "server.example.org", 8000, environment) is not None) is proxied


@pytest.mark.parametrize(
    ("no_proxy", "host", "bypassed"),
    [
        ("*", "server.example.org", True),
        ("example.org", "server.example.org", True),
        (".example.org", "server.example.org", True),
        ("example.org", "notexample.org", False),
        ("server.example.org:8000", "server.example.org", True),
        ("server.example.org:9000", "server.example.org", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("other, server.example.org", "server.example.org", True),
        ("", "server.example.org", False),
    ],
)
def test_no_proxy_names_hosts_domains_ports_and_networks(no_proxy: str, host: str, bypassed: bool) -> None:
    environment = {"http_proxy": "http://p:1", "NO_PROXY": no_proxy}
    assert (proxy_for("http", host, 8000, environment) is None) is bypassed


def test_a_proxy_elsewhere_is_not_asked_for_this_machines_loopback_but_a_local_one_is() -> None:
    assert proxy_for("http", "127.0.0.1", 8000, {"http_proxy": "http://proxy.example.org:1"}) is None
    assert proxy_for("http", "127.0.0.1", 8000, {"http_proxy": "http://localhost:1"}) is not None


def test_a_proxy_of_another_kind_is_refused_without_its_password() -> None:
    with pytest.raises(OptionError, match="not an http:// proxy") as caught:
        proxy_for("http", "h", 80, {"http_proxy": "https://me:hidden-word@p:1"})
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://me:hidden-word@h:8000", "holds a login, which is not sent"),
        ("http://h:8000/v1?api-version=1", "must end with its path"),
        ("http://h:8000/v1#x", "must end with its path"),
        ("http://a b:8000", "'a b' is no host name"),
        ("http://\u00a0.example", "is no host name"),
        (f"http://{'ü' * 70}.example", "is no host name"),
    ],
)
def test_what_would_be_lost_of_an_address_is_refused(url: str, says: str) -> None:
    with pytest.raises(OptionError, match=says) as refused:
        parse_target(url, environment={})
    assert "hidden-word" not in str(refused.value)


def test_an_address_of_other_letters_is_sent_as_the_wire_wants_it() -> None:
    target = parse_target("http://пример.рф:8000/модель/v1", environment={})
    head = target.head("GET", f"{target.api_path}/models", length=0, api_key=None, accept="*/*")
    assert head.startswith(
        b"GET /%D0%BC%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C/v1/models HTTP/1.1\r\nHost: xn--e1afmkfd.xn--p1ai:8000\r\n"
    )
