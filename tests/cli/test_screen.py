"""What commands print: lines of progress where there is no terminal, and tables that keep numbers whole."""

import gc
import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from dlfa_cli import screen
from dlfa_cli.screen import print_table


def test_the_command_to_type_next_shows_how_a_pair_is_given():
    assert screen.predict_command("runs/ner", None) == 'dlfa predict runs/ner "…"'
    assert screen.predict_command("runs/x", True) == r"dlfa predict runs/x $'…\t…'"
    assert screen.predict_command("my runs/x", False) == """dlfa predict 'my runs/x' "…\""""


@pytest.mark.parametrize("own_process", [True, False])
def test_no_garbage_is_looked_for_among_what_is_imported(own_process, monkeypatch):
    frozen = []
    monkeypatch.setattr(screen, "gc", SimpleNamespace(freeze=lambda: frozen.append(gc.isenabled())))
    monkeypatch.setattr(screen, "sys", SimpleNamespace(modules={} if own_process else {"torch": None}))
    monkeypatch.setattr(screen, "quiet_libraries", lambda: None)
    with screen.loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert frozen == [True] * own_process


def console(width=80, terminal=False):
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, highlight=False)


def test_progress_in_a_file_is_lines(monkeypatch):
    clock = iter([0, 0, 30, 61, 61.5, 100, 100, 200, 201, 202])
    monkeypatch.setattr(screen, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    out = console()
    with screen.progress_bars(out) as progress:
        progress("Loading [x]", 0, 1)
        progress("Loading [x]", 1, 1)
        for done in (0, 5, 1, 4):
            progress("Training", done, 10)
        progress("Scoring", 0, 2)
        progress("Scoring", 1, 2)
        progress("Scoring", 1, 2)
        progress("Scoring", 0, 2)
    assert out.file.getvalue().splitlines() == [
        "Loading [x] ...",
        "Training ...",
        "Training: 10 of 10, 70 s",
        "Scoring ...",
        "Scoring: 1 of 2, 100 s",
        "Scoring: 2 of 2, 101 s",
    ]


def test_a_stage_that_comes_again_is_counted_anew(monkeypatch):
    clock = iter(range(0, 100, 10))
    monkeypatch.setattr(screen, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    out = console()
    with screen.progress_bars(out) as progress:
        for total in (2, 3):  # an adaptation, and the training after it
            for done in (0, 1, total - 1):
                progress("Training", done, total)
    assert out.file.getvalue().splitlines() == [
        "Training ...", "Training: 2 of 2, 20 s", "Training ...", "Training: 3 of 3, 10 s",
    ]  # fmt: skip


HEADER = ["mean over", "languages", "accuracy", "macro F1", "XTREME F1"]
ROWS = [
    ["noenf of the paper (others)", "7", *["72.0 [70.3, 73.8]"] * 3],
    ["Indo-European", "6", *["5.0 [1.0, 9.0]"] * 3],
]


@pytest.mark.parametrize("width", [80, 200])
def test_numbers_of_a_table_stay_whole_in_80_columns(width):
    out = console(width, terminal=True)
    print_table(out, HEADER, ROWS, "means")
    lines = out.file.getvalue().splitlines()
    assert lines[0].strip() == "means"
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert text.count("72.0 [70.3, 73.8]") == text.count("5.0 [1.0, 9.0]") == 3
    assert ("noenf of the paper (others)" in text) == (width == 200)
    assert {"noenf", "paper", "(others)", "Indo-European"} <= set(re.split(r"\s+", text))


def test_a_file_gets_lines_as_long_as_they_are(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_table(screen.results_console(), HEADER, ROWS)
    assert "noenf of the paper (others)          7  72.0 [70.3, 73.8]  72.0" in capsys.readouterr().out
