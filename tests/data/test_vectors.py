"""Text files of word vectors: the forms of fastText, word2vec and GloVe, and against gensim's own reader."""

import gzip

import pytest
import torch

from dlfa_adapters.data.vectors import STATE, read_vectors
from dlfa_adapters.ground.errors import DataError


@pytest.fixture
def write(tmp_path):
    def file(data, name="x.vec"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return file


FASTTEXT = "4 3\n</s> 0 0 0 \nthe 1 2 3 \nkatze -1.5 0.25 1e-2 \nHaus 7 8 9 \n"


def test_only_the_words_that_are_needed_are_kept(write):
    read = read_vectors(write(FASTTEXT), ["katze", "hund", "haus"], "de")
    assert list(read.rows) == ["katze", "haus"]
    torch.testing.assert_close(read.of(["haus", "katze"], STATE), torch.tensor([[7.0, 8, 9], [-1.5, 0.25, 0.01]]))
    assert list(read.states) == [STATE]


def test_without_a_first_line_of_counts_and_with_blanks_in_words(write):
    glove = "the 1 2 3\n. . . 4 5 6\n12 7 8 9\nat name@domain.com 1 1 1\n"
    read = read_vectors(write(glove), ["the", ". . .", "12", "name@domain.com"])
    assert read.of([". . .", "12", "the"], STATE).tolist() == [[4, 5, 6], [7, 8, 9], [1, 2, 3]]
    assert "name@domain.com" not in read.rows


def test_packed_by_gzip_and_broken_characters(write):
    data = b"2 2\nB\xc3 1 2\nB\xc3\xa4r 3 4\n"
    assert read_vectors(write(gzip.compress(data), "x.vec.gz"), ["Bär"]).of(["Bär"], STATE).tolist() == [[3, 4]]


def test_spelled_alike_comes_before_frequent(write):
    text = "WAGEN 1 1\nWagen 2 2\nwagen 3 3\nHAUS 4 4\nHaus 5 5\n"
    read = read_vectors(write(text), ["wagen", "haus"])
    assert read.of(["wagen", "haus"], STATE).tolist() == [[3, 3], [4, 4]]


def test_none_of_the_words_is_there(write):
    read = read_vectors(write(FASTTEXT), ["hund"])
    assert (read.rows, tuple(read.states[STATE].shape)) == ({}, (0, 3))


def test_what_gensim_writes(write, tmp_path):
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(4)
    words = ["katze", "hund", "maus"]
    vectors.add_vectors(words, torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).numpy())
    for header in (True, False):
        vectors.save_word2vec_format(str(tmp_path / "g.vec"), write_header=header)
        read = read_vectors(tmp_path / "g.vec", words)
        torch.testing.assert_close(read.of(words, STATE), torch.from_numpy(vectors[words]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 3\nthe 1 2\n", r"line 2: expected a word and 3 numbers, got 3 columns"),
        ("the 1 2 3\ncat 1 2\n", r"line 2: expected a word and 3 numbers, got 3 columns"),
        ("the\ncat\n", r"line 1: expected a word and its numbers, got 1 columns"),
        ("the 1 2 x\n", r"line 1: expected 3 numbers behind the word"),
        ("the 1 nan 2\n", r"line 1: expected finite numbers"),
    ],
)
def test_what_is_no_file_of_vectors(write, text, message):
    with pytest.raises(DataError, match=message):
        read_vectors(write(text), ["the", "cat"])


def test_what_cannot_be_opened(write, tmp_path):
    for path in (tmp_path / "no.vec", tmp_path, write(gzip.compress(b"a 1 2\n" * 50)[:-9], "cut.vec.gz")):
        with pytest.raises(DataError, match="expected a text file of word vectors"):
            read_vectors(path, ["the"])
