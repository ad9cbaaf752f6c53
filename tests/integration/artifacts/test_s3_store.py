"""The artifact store on a real S3-compatible server: what is kept, and how each of its failures is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.artifacts import RunStore, all_runs, artifacts_root
from benchgate.errors import ArtifactError, DamagedArtifact
from benchgate.records import RunRecord
from benchgate.steps.context import CampaignRun
from benchgate.steps.expired import remove_expired
from tests.support.runs import campaign, run_record
from tests.support.s3_server import SECRET_KEY, S3Server
from tests.support.warehouses import keep, rows, with_requests

ROOT = Path(__file__).resolve().parents[3]


def test_a_store_that_nothing_was_written_to_holds_no_runs(s3_artifacts: S3Server) -> None:
    assert list(all_runs(f"{s3_artifacts.url}/nothing/here")) == []
    assert remove_expired(root=f"{s3_artifacts.url}/nothing/here") == []


def test_what_one_process_writes_another_reads_at_once(s3_artifacts: S3Server) -> None:
    store = RunStore("kernels.night-1")
    target = store.path("run.json")
    assert store.read(target, RunRecord) is None
    assert not store.exists(target)

    code = (
        "from benchgate.artifacts import RunStore; s = RunStore('kernels.night-1');"
        "s.write_text(s.path('run.json'), open(0).read())"
    )
    record = run_record(campaign())
    subprocess.run(
        [sys.executable, "-c", code],
        input=record.model_dump_json(),
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include")},
    )

    assert store.exists(target)
    assert store.read(target, RunRecord) == record
    assert [found.run for found in all_runs()] == ["kernels.night-1"]


def test_a_run_is_loaded_from_object_storage_and_expires_there(
    s3_artifacts: S3Server, benchgate_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = with_requests(tmp_path, run="kernels.night-2")
    store = keep(made)

    assert cli.main(["warehouse", "migrate"]) == 0
    assert cli.main(["warehouse", "load", made.run.run]) == 0
    assert "12 cells, 240 requests" in capsys.readouterr().out
    assert rows(f"sqlite:///{benchgate_home}/warehouse.db", "SELECT count(*) AS n FROM request") == [{"n": 240}]

    later = datetime(2027, 6, 1, tzinfo=timezone.utc)
    (said,) = remove_expired(dry=True, now=later)
    assert said.startswith("would remove 12 requests.parquet of run kernels.night-2")
    assert remove_expired(now=later)[0].startswith("removed 12 requests.parquet")
    assert store.find("requests.parquet") == []
    assert len(store.find("cell.json")) == 12
    assert remove_expired(now=later) == []
    assert not (benchgate_home / "artifacts").exists()


def test_a_step_reads_its_campaign_and_hosts_from_the_store(s3_artifacts: S3Server) -> None:
    run = CampaignRun("kernels.night-3")
    hosts = "hosts: {here: {kind: process, placements: {cpu: {}}}}\n"
    run.store.write_text(run.store.path("hosts.yaml"), hosts)

    assert run.inventory.refs == ["here/cpu"]
    with pytest.raises(Exception, match=r"campaign\.yaml is not in the artifact store at s3://benchgate/campaigns"):
        _ = run.campaign


FAILURES = [
    ({"AWS_SECRET_ACCESS_KEY": "wrong-secret"}, "refused s3://benchgate/campaigns/x/run.json"),
    ({"AWS_ACCESS_KEY_ID": "nobody"}, "check the credentials"),
    ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no usable credentials"),
    ({"BENCHGATE_ARTIFACTS": "s3://no-such-bucket/campaigns"}, "has no bucket no-such-bucket"),
    ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}, "does not answer"),
]
# in a process of its own: an AWS session keeps the settings that it was made with
TRY_EACH = """
import json, os, s3fs
from benchgate.artifacts import RunStore
from benchgate.errors import ArtifactError
before = dict(os.environ)
for changes in json.load(open(0)):
    os.environ.clear()
    os.environ.update({**before, **changes})
    for name in [name for name, value in changes.items() if not value]:
        del os.environ[name]
    s3fs.S3FileSystem.clear_instance_cache()
    store = RunStore("x")
    for do in (lambda: store.read_bytes(store.path("run.json")), lambda: store.write_text(store.path("run.json"), "x")):
        try:
            do()
            print("nothing was said")
        except ArtifactError as error:
            print(error)
"""


def test_each_failure_of_the_store_is_one_line(s3_artifacts: S3Server) -> None:
    result = subprocess.run(
        [sys.executable, "-c", TRY_EACH],
        input=json.dumps([changes for changes, _ in FAILURES]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include")},
    )

    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert len(said) == 2 * len(FAILURES), result.stdout
    for (_, message), on_read, on_write in zip(FAILURES, said[::2], said[1::2], strict=True):
        assert message in on_read
        assert message in on_write
    assert SECRET_KEY not in result.stdout + result.stderr
    assert "wrong-secret" not in result.stdout + result.stderr


def test_a_store_that_restarts_loses_nothing(s3_artifacts: S3Server) -> None:
    store = RunStore("kernels.restart")
    store.write_text(store.path("before.json"), "{}")
    s3_artifacts.stop()
    back = threading.Timer(2.0, s3_artifacts.start_again)
    back.start()

    store.write_text(store.path("meanwhile.json"), "[1]")

    back.join()
    assert store.read_json(store.path("before.json")) == {}
    assert store.read_json(store.path("meanwhile.json")) == [1]


def test_the_command_line_tells_a_refusal_without_a_traceback(
    s3_artifacts: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHGATE_ARTIFACTS", "s3://no-such-bucket/x")

    assert cli.main(["warehouse", "load", "some.run"]) == 1

    error = capsys.readouterr().err
    assert "has no bucket no-such-bucket (create it, or correct BENCHGATE_ARTIFACTS)" in error
    assert len(error.splitlines()) == 1


def test_credentials_in_the_url_are_refused_before_anything_can_show_them() -> None:
    with pytest.raises(ArtifactError, match="holds credentials") as caught:
        artifacts_root("s3://key:very-secret@bucket/x")
    assert "very-secret" not in str(caught.value)


def test_damaged_records_name_the_file_in_its_run(s3_artifacts: S3Server) -> None:
    store = RunStore("kernels.damaged")
    store.write_bytes(store.launch_path("one", "launch.json"), b'{"launch": ')

    with pytest.raises(DamagedArtifact, match=r"launches/one/launch\.json is no readable RunRecord"):
        store.read(store.launch_path("one", "launch.json"), RunRecord)
    assert remove_expired() == []  # and housekeeping goes on


def test_keys_of_a_hostile_name_stay_inside_the_run(s3_artifacts: S3Server) -> None:
    store = RunStore("../../outside")
    store.write_text(store.path("..", "../../x", "a/b"), "x")

    written = [path.relative_to(s3_artifacts.folder) for path in s3_artifacts.folder.rglob("*") if path.is_file()]
    assert all(path.parts[0] == "campaigns" and ".." not in path.parts for path in written)
