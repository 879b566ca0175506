"""The figures of the results pages are those of the raw rows, and each says how it comes about."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import figures

    yield figures
    for name in (
        "figures",
        "frozen_sweep_tables",
        "knowledge_analysis_tables",
        "knowledge_tables",
        "language_tables",
        "measuring",
        "pretraining_study",
        "pretraining_tables",
        "retrieval_tables",
        "shift_tables",
        "small_data",
        "speed_tables",
        "translation_tables",
        "tunings",
    ):
        sys.modules.pop(name, None)


def test_every_figure_is_that_of_the_raw_rows(figures):
    assert [sentence for page in figures.PAGES for sentence in figures.wrong(page)] == []


@pytest.fixture
def page(tmp_path):
    """page(text): a page of results."""

    def write(text):
        (tmp_path / "results").mkdir(exist_ok=True)
        path = tmp_path / "results" / "page.md"
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It is 1.26<!--= 1.25 --> times.\n", ["page.md: 1.26 should be 1.25 by 1.25"]),
        ("It is +1.2<!--= -1.24 -->.\n", ["page.md: +1.2 should be \u22121.2 by -1.24"]),
        ("It is **1,234<!--= 1234.4 -->** and 3 %<!--= 4 -->.\n", ["page.md: 3 should be 4 by 4"]),
        ("It is 1.25.\n", ["page.md: 1.25 has no marker"]),
        ("| a | 1.25 |\n", ["page.md: a table without marker has '| a | 1.25 |'"]),
        ("<!-- table: ['| a |'] -->\n\n| b |\n", ["page.md: the line '| b |' should be '| a |' by ['| a |']"]),
        ("<!-- table: ['| a |'] -->\n\n| a |\n| b |\n", ["page.md: the table of ['| a |'] should have 1 lines"]),
        ("<!-- table: ['| a |'] -->\n\n- text\n", ["page.md: the table of ['| a |'] should have 1 lines"]),
        ("```\n1.25\n```\n`1.25` PyTorch 2.11, 3 heads\nRates of 1.5 <!-- settings -->\n", []),
        ("| a | 1.25<!--= 1.25 --> |\n", []),
    ],
)
def test_what_is_wrong_is_said(figures, page, text, told):
    assert list(figures.wrong(page(text))) == told


def test_writing_puts_the_values_into_the_page(figures, page):
    path = page("It is 9.99<!--= 1.25 -->.\n<!-- table: ['| a |', '| b |'] -->\n\n| c |\n")
    figures.write(path)
    assert path.read_text("utf-8") == "It is 1.25<!--= 1.25 -->.\n<!-- table: ['| a |', '| b |'] -->\n\n| a |\n| b |\n"
    assert list(figures.wrong(path)) == []


def test_writing_fills_a_table_that_is_not_there_yet(figures, page):
    path = page("<!-- table: ['| a |'] -->\n\n- text\n")
    figures.write(path)
    assert path.read_text("utf-8") == "<!-- table: ['| a |'] -->\n\n| a |\n\n- text\n"
