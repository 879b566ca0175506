"""How a command ends: an exit code, one line at most, no traceback; for every kind of error that libraries raise."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_cli.main import exit_code


class OutOfMemoryError(RuntimeError):
    """As torch.OutOfMemoryError is called."""


class SafetensorError(Exception):
    """As safetensors calls it; an Exception and nothing else."""


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SystemExit(0), 0, ""),
        (SystemExit(2), 2, ""),
        (SystemExit(None), 0, ""),
        (ConfigError("expected 1, got 2; type 1."), 2, "dlfa: expected 1, got 2; type 1.\n"),
        (DataError("a\x1b[2J\nb"), 2, "dlfa: a\\x1b[2J\\nb\n"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x/y"), 2, "dlfa: No such file: 'x/y'\n"),
        (OSError(errno.EXDEV, "Cross-device link", "a", None, "b"), 2, "dlfa: Cross-device link: 'a', 'b'\n"),
        (OSError("told without a number"), 2, "dlfa: told without a number\n"),
        (OutOfMemoryError("CUDA out of memory. Tried to allocate\nmore"), 2, "dlfa: the memory is full (CUDA out of"),
        (
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534"),
            2,
            "dlfa: the disk is full ([",
        ),
        (OSError(28, "No space left on device", "a.json"), 2, "dlfa: a.json cannot be written, the disk is full"),
        (MemoryError(), 2, "dlfa: the memory is full (MemoryError); a smaller --micro-batch"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "dlfa: the memory is full"),
        (SafetensorError("No space left on device"), 2, "dlfa: the disk is full (No space left on device); make room"),
        (SafetensorError("invalid header"), 2, "dlfa: a file of weights cannot be read or written: invalid header\n"),
        (ImportError("XTokenizer requires sentencepiece\nmore"), 2, "dlfa: XTokenizer requires sentencepiece; `dlfa"),
        (KeyError("x"), 1, "dlfa: this is a bug in dlfa: KeyError: 'x' (test_ends.py, line"),
        (KeyboardInterrupt(), 130, "dlfa: stopped.\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
    ],
)
def test_every_error_is_one_line(error, code, message, capfd, monkeypatch):
    monkeypatch.setattr("dlfa_cli.main._give_up_stdout", lambda: None)
    assert exit_code(raising(error)) == code
    printed = capfd.readouterr().err
    assert printed.startswith(message)
    assert printed.count("\n") == (1 if message else 0)


def test_with_debug_the_error_itself_comes(monkeypatch):
    monkeypatch.setenv("DLFA_DEBUG", "1")
    with pytest.raises(KeyError):
        exit_code(raising(KeyError("x")))


WAIT = """
import signal, sys, time
from dlfa_cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored for what it runs in the background

@main.app.command()
def wait():
    print("ready", flush=True)
    time.sleep(60)

@main.app.command()
def resumable():
    from dlfa_cli.screen import stopped_with
    with stopped_with(lambda: "type dlfa train --resume runs/x to go on"):
        wait()

@main.app.command()
def many():
    for i in range(100_000):
        print("line", i)

sys.argv = ["dlfa", sys.argv[1]]
main.main()
"""


def start(command, **options):
    return subprocess.Popen([sys.executable, "-c", WAIT, command], stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    ("command", "said"),
    [("wait", "stopped."), ("resumable", "stopped; type dlfa train --resume runs/x to go on.")],
)
def test_ctrl_c_is_one_line_and_130(command, said):
    process = start(command, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == f"dlfa: {said}\n"
    assert process.returncode == 130


def test_without_a_stdout_nothing_is_printed_and_that_is_no_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert exit_code(lambda: None) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="pipes")
def test_a_reader_that_has_enough_is_no_error():
    reading, writing = os.pipe()
    process = start("many", stdout=writing)
    os.close(writing)
    os.read(reading, 10)
    os.close(reading)
    assert process.communicate(timeout=20)[1] == ""
    assert process.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["many", "--help"])
def test_a_full_disk_is_one_line(command):
    with open("/dev/full", "w") as full:
        process = start(command, stdout=full)
        assert process.communicate(timeout=20)[1] == (
            "dlfa: the disk is full ([Errno 28] No space left on device); make room and call the same again.\n"
        )
    assert process.returncode == 2
