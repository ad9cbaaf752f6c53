"""A setting of the artifact store that cannot be right is one line that names it, in every command; never a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.artifact_errors import told
from benchgate.artifacts import RunStore, artifacts_root
from benchgate.errors import ArtifactError

AWS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE")


@pytest.fixture(autouse=True)
def _s3_store(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in AWS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BENCHGATE_ARTIFACTS", "s3://bucket/prefix")


@pytest.mark.parametrize("command", ["load", "housekeeping"])
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("AWS_ENDPOINT_URL", "s3.example.net", "AWS_ENDPOINT_URL=s3.example.net is no address of an S3 store"),
        ("AWS_CA_BUNDLE", "/nope.pem", "AWS_CA_BUNDLE=/nope.pem cannot be used for the artifact store: No such file"),
        ("BENCHGATE_ARTIFACTS", "s3:///x", "BENCHGATE_ARTIFACTS=s3:///x names no bucket"),
        ("BENCHGATE_ARTIFACTS", "s3://", "BENCHGATE_ARTIFACTS=s3:// names no bucket"),
    ],
)
def test_every_command_says_it_in_one_line(
    command: str, name: str, value: str, says: str,
    benchgate_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    hosts = benchgate_home / "hosts.yaml"
    hosts.write_text("hosts: {here: {kind: process, placements: {one: {}}}}\n")
    arguments = ["warehouse", "load", "x.y"] if command == "load" else ["housekeeping", "--hosts", str(hosts)]

    assert cli.main(arguments) == 1

    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "value",
    ["s3.example.net", "s3.example.net:9000", "ftp://store", "https://", "http://h:99999", "http://h:x", "http://a b",
     "http://[::1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", value)

    with pytest.raises(ArtifactError, match="AWS_ENDPOINT_URL_S3=") as caught:
        artifacts_root()

    assert value in str(caught.value)
    assert "write AWS_ENDPOINT_URL_S3=https://HOST:PORT" in str(caught.value.remedy)


def test_a_password_in_a_bad_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "user:geheim@store:9000")

    with pytest.raises(ArtifactError, match="store:9000") as caught:
        artifacts_root()

    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("value", ["https://s3.example.net", "http://127.0.0.1:9000", "http://[::1]:9000/", ""])
def test_a_good_address_is_used(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", value)

    assert artifacts_root().storage_options.get("endpoint_url") == (value or None)
    assert str(artifacts_root()) == "s3://bucket/prefix"


def test_what_only_the_client_refuses_names_the_setting_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://under_score-.example")
    store = RunStore("r")

    with pytest.raises(ArtifactError, match="under_score") as caught:
        store.read_bytes(store.path("gates.json"))

    assert "AWS_ENDPOINT_URL" in str(caught.value.remedy)


@pytest.mark.parametrize(("text", "says"), [("no certificate", "no certificate in PEM form"), (None, "Is a directory")])
def test_a_ca_file_without_certificates_is_refused(
    text: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path if text is None else tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(file))

    with pytest.raises(ArtifactError, match=says):
        artifacts_root()


def test_a_certificate_that_nobody_trusts_asks_for_the_ca() -> None:
    with pytest.raises(ArtifactError) as caught, told(artifacts_root()):
        raise RuntimeError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")

    assert "AWS_CA_BUNDLE" in str(caught.value.remedy)


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "s3a://", "s3a:///x", "gs://", "gcs:///x", "s3:/bucket", "s3:"])
def test_a_url_without_a_bucket_is_refused(url: str) -> None:
    with pytest.raises(ArtifactError, match=f"{url} names no bucket"):
        artifacts_root(url)
