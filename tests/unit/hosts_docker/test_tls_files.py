"""TLS files of a host that are there and wrong: each is named with its path and what is wrong with it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.docker_tls import tls_problem
from benchgate.spec.hosts import TlsFiles
from tests.support.docker_engine import make_certificates

URL = "tcp://127.0.0.1:9"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificates(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture
def wrong(files: TlsFiles, tmp_path: Path) -> Callable[[str, str], TlsFiles]:
    """The files of the host, with one of them replaced by a file of this content."""

    def made(name: str, content: str) -> TlsFiles:
        (tmp_path / f"{name}.pem").write_text(content)
        return files.model_copy(update={name: str(tmp_path / f"{name}.pem")})

    return made


def test_good_files_and_none_are_no_problem(files: TlsFiles) -> None:
    assert tls_problem("gpu1", "tcp://gpu1:2376", files) is None
    assert tls_problem("gpu1", "tcp://gpu1:2376", None) is None


def test_what_is_missing_or_given_for_a_socket_is_named(files: TlsFiles) -> None:
    missing = tls_problem("gpu1", "tcp://gpu1:2376", files.model_copy(update={"cert": "/no/cert"}))

    assert missing == "host gpu1: TLS file tls.cert /no/cert does not exist"
    assert "not a tcp://" in str(tls_problem("gpu1", "unix:///x", files))


@pytest.mark.parametrize("content", ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
@pytest.mark.parametrize("name", ["ca", "cert"])
def test_a_file_without_a_certificate_is_named(
    wrong: Callable[[str, str], TlsFiles], tmp_path: Path, name: str, content: str
) -> None:
    said = tls_problem("gpu1", URL, wrong(name, content))

    assert str(said).startswith(f"host gpu1: TLS file tls.{name} {tmp_path}/{name}.pem holds no PEM certificate")


def test_a_key_in_place_of_a_certificate_and_a_certificate_in_place_of_a_key_are_named(files: TlsFiles) -> None:
    turned = TlsFiles(ca=files.ca, cert=files.key, key=files.cert)
    no_key = TlsFiles(ca=files.ca, cert=files.cert, key=files.cert)

    assert f"tls.cert {files.key} holds no PEM certificate" in str(tls_problem("gpu1", URL, turned))
    assert f"tls.key {files.cert} holds no PEM private key" in str(tls_problem("gpu1", URL, no_key))


def test_a_key_that_is_none_is_named(wrong: Callable[[str, str], TlsFiles], tmp_path: Path) -> None:
    said = tls_problem("gpu1", URL, wrong("key", "x"))

    assert f"tls.key {tmp_path}/key.pem holds no PEM private key" in str(said)


def test_the_key_of_another_certificate_is_named_with_both_files(files: TlsFiles) -> None:
    other = str(Path(files.key).with_name("server-key.pem"))

    said = tls_problem("gpu1", URL, files.model_copy(update={"key": other}))

    assert said == f"host gpu1: TLS file tls.key {other} is the key of another certificate than tls.cert {files.cert}"


def test_a_key_with_a_password_asks_nobody_for_it(files: TlsFiles, tmp_path: Path) -> None:
    locked = str(tmp_path / "locked.pem")
    subprocess.run(
        ["openssl", "rsa", "-aes256", "-passout", "pass:word", "-in", files.key, "-out", locked],
        check=True,
        capture_output=True,
    )

    said = tls_problem("gpu1", URL, files.model_copy(update={"key": locked}))

    assert f"tls.key {locked} is encrypted" in str(said)


def test_wrong_files_are_told_before_anything_is_sent(wrong: Callable[[str, str], TlsFiles]) -> None:
    engine = DockerEngine("gpu1", EngineConnection(URL, tls=wrong("ca", "x")))  # nothing listens on that port

    with pytest.raises(HostError, match=r"tls\.ca .* holds no PEM certificate .*as files on the worker"):
        engine.clock()
