"""How commands end: signals, files that cannot be read or written, a pipe that closes."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import types
from collections.abc import Callable, Iterator

import pytest

from benchgate import cli
from benchgate.cli import run_command


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Run a command that raises; gives its exit code."""

    def end(error: BaseException) -> int:
        def run(_args: argparse.Namespace) -> int:
            raise error

        module = types.SimpleNamespace(add_arguments=lambda _parser: None, run=run)
        monkeypatch.setattr(cli.importlib, "import_module", lambda _name: module)
        return cli.main(["plan"])

    return end


def test_a_full_disk_is_one_line_with_the_file(
    ending: Callable[[BaseException], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(OSError(errno.ENOSPC, "No space left on device", "/full/x.json")) == 1
    assert capsys.readouterr().err == "error: /full/x.json: No space left on device (make room, and do it again)\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (KeyboardInterrupt("SIGTERM"), 143, "interrupted by SIGTERM\n"),
        (KeyboardInterrupt("SIGHUP"), 129, "interrupted by SIGHUP\n"),
    ],
)
def test_the_exit_code_names_the_signal(
    ending: Callable[[BaseException], int],
    error: BaseException,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ending(error) == code
    assert capsys.readouterr().err == said


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupted_by(number: signal.Signals) -> None:
    with run_command._signals_interrupt():
        os.kill(os.getpid(), number)
        signal.pause()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_run_interrupts_it_as_ctrl_c_does(handlers: None, number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)  # whoever started the tests, e.g. with nohup, may have had it ignored
    before = signal.getsignal(number)

    with pytest.raises(KeyboardInterrupt, match=number.name):
        interrupted_by(number)

    assert signal.getsignal(number) is before


def test_what_nohup_ignores_stays_ignored(handlers: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with run_command._signals_interrupt():
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
