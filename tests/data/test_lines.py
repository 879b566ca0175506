"""Lines one after the other are the lines that are read at once."""

import gzip

import pytest

from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import iter_lines, read_lines
from dlfa_adapters.ground.errors import DataError


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a\n",
        "a\nb",
        "a\r\nb\r\n\r\n",
        "\ufeffa\n\ufeffb\n\ufeff\tc\n\ufeff\n",
        "a\u2028b\x85c\x0cd\ne\r",
        "a\rb\rc",
        "a\rb\nc",
        "\n\n",
        "東京\nпривет",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_they_are_the_same(tmp_path, text, packed):
    path = tmp_path / "x.txt"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(iter_lines(path, Notes(path))) == read_lines(path, Notes(path))


def test_no_line_is_read_before_it_is_needed(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"a\nb\n" + b"\xff\n" * 10)
    lines = iter_lines(path, Notes(path))
    assert [next(lines), next(lines)] == ["a", "b"]
    with pytest.raises(DataError, match=r"x\.txt, line 3: expected UTF-8, but got byte 0xFF at position 1"):
        next(lines)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\xff\xfea\0", "expected UTF-8, but this is UTF-16"),
        (b"PK\x03\x04\xff", "a ZIP archive"),
        (gzip.compress(b"a\nb\n" * 10_000, mtime=0)[:-9], "cannot be read"),
    ],
)
def test_what_is_no_text(tmp_path, data, sentence):
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    with pytest.raises(DataError, match=sentence):
        list(iter_lines(path, Notes(path)))


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match="there is none of this name"):
        list(iter_lines(tmp_path / "x.txt", Notes("x")))
    with pytest.raises(DataError, match="expected a file, but this is a folder"):
        list(iter_lines(tmp_path, Notes("x")))
