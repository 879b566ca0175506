"""What a locale, a pipe or a terminal can do to text on its way in and out."""

import json
import os
import subprocess
import sys

import pytest

TEXT = "Ольга\x81 met Bob \U0001f680 in 東京"
LOCALES = [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C", "PYTHONUTF8": "1"}, {"LC_ALL": "C.UTF-8"}]


def dlfa(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "dlfa_cli", *arguments],
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(("locale", "encoding"), list(zip(LOCALES, (None, "cp1252", "latin-1"), strict=True)))
def test_text_passes_whatever_the_locale_and_json_stays_json_whatever_the_encoding(locale, encoding, tiny_run):
    environment = locale | ({"PYTHONIOENCODING": encoding} if encoding else {})
    done = dlfa("predict", str(tiny_run.run.folder), TEXT, "--json", **environment)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout.decode(encoding or "utf-8"))
    assert row["text"] == TEXT


SAID = [(encoding, {"PYTHONIOENCODING": encoding}) for encoding in ("ascii", "latin-1", "utf-8")]


@pytest.mark.parametrize(("encoding", "environment"), [*SAID, *(("utf-8", locale) for locale in LOCALES)])
def test_help_and_tables_pass_whatever_the_encoding(encoding, environment, tmp_path):
    assert dlfa("--help", **environment).returncode == 0
    (tmp_path / "x.tsv").write_text("Ольга\tимя\nmet\tO\n", "utf-8")
    done = dlfa("data", "check", str(tmp_path / "x.tsv"), "--format", "columns", **environment)
    assert done.returncode == 0
    shown = "имя" if encoding == "utf-8" else "имя".encode("ascii", "backslashreplace").decode()
    assert shown in done.stdout.decode(encoding)


def test_an_error_stays_one_line_whatever_the_name_of_the_file():
    done = dlfa("data", "check", "a\nb\x1b[2J")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [r"dlfa: a\nb\x1b[2J: expected a file, but there is none of this name"]


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are bytes on Linux only")
def test_an_argument_that_is_not_utf8_is_refused_as_a_file_is(tiny_run):
    done = dlfa("predict", str(tiny_run.run.folder), b"Caf\xe9 met Bob", LC_ALL="C.UTF-8")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"expected UTF-8, but got byte 0xE9 at position 4" in done.stderr
