"""Dictionaries as MUSE and XLING-BLI have them, and which word of one a word of a text is."""

import pytest

from dlfa_adapters.data.dictionary import Claims, Matcher, by_language, check_languages, lowered, read_dictionary
from dlfa_adapters.ground.errors import ConfigError, DataError


@pytest.fixture
def write(tmp_path):
    def file(name, text):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return file


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("en-de.5000-6500.txt", "cat katze\ncat kater\ndog hund\ncat katze\n"),  # MUSE
        ("yacle.test.freq.2k.en-de.tsv", "cat\tkatze\ncat\tkater\n\ndog\thund\ncat\tkatze\n"),  # XLING-BLI
    ],
)
def test_both_formats(write, name, text):
    read = read_dictionary(write(name, text))
    assert read.pairs == [("cat", "katze"), ("cat", "kater"), ("dog", "hund")]
    assert (read.name, read.languages, read.repeated) == ("en-de", ("en", "de"), 1)
    assert (read.words(0), read.words(1)) == (["cat", "dog"], ["katze", "kater", "hund"])


def test_words_with_blanks_stand_between_tabs(write):
    assert read_dictionary(write("en-de.tsv", "New York\tNew York\na\tein\n")).pairs[0] == ("New York", "New York")


def test_languages_are_told_where_the_name_has_none(write):
    path = write("words.txt", "cat katze\ndog hund\n")
    assert read_dictionary(f"en-de={path}").languages == ("en", "de")
    with pytest.raises(DataError, match=r"words\.txt: expected the languages .* type en-de="):
        read_dictionary(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat katze\na big cat\n", "line 2: expected a word and its translation, .* got 'a big cat'"),
        ("cat katze\ndog\n", "line 2: expected a word"),
        ("cat\tkatze\tkater\n", "line 1: expected a word"),
        ("cat katze\ncat katze\n", "two or more pairs of words, got 1"),
    ],
)
def test_what_is_no_dictionary(write, text, message):
    with pytest.raises(DataError, match=message):
        read_dictionary(write("en-de.txt", text))


def test_words_by_language(write):
    german = read_dictionary(write("en-de.txt", "cat katze\ndog hund\n"))
    turkish = read_dictionary(write("en-tr.txt", "dog köpek\nfish balık\n"))
    needed = by_language([german, turkish])
    assert needed == {"en": ["cat", "dog", "fish"], "de": ["katze", "hund"], "tr": ["köpek", "balık"]}
    check_languages(needed, ["en"], ["tr", "de"])
    with pytest.raises(ConfigError, match=r"text or vectors of de, en, tr, .* got fr"):
        check_languages(needed, ["en", "fr"])


def test_a_word_is_the_one_that_is_spelled_alike_or_else_in_small_letters():
    matcher = Matcher(["wagen", "Wagen", "haus", "e\u0301te\u0301"], "de")
    assert matcher("Wagen") == ([1], True)
    assert matcher("wagen") == ([0], True)
    assert matcher("WAGEN") == ([0, 1], False)
    assert matcher("Haus") == ([2], False)
    assert matcher("été") == ([3], True)  # the same letters, however they are composed
    assert matcher("häuser") == ([], False)


def test_capitals_of_turkish():
    assert [lowered("ISPARTA İZMİR", x) for x in ("tr", "tur_Latn", "az", "en", None)] == [
        "ısparta izmir",
        "ısparta izmir",
        "ısparta izmir",
        "isparta i̇zmi̇r",
        "isparta i̇zmi̇r",
    ]
    assert Matcher(["izmir"], "tr")("İzmir")[0] == [0]
    assert Matcher(["izmir"], "en")("İzmir")[0] == []


def test_a_vocabulary_gives_each_word_the_best_that_comes():
    claims = Claims(Matcher(["haus", "Wagen", "wagen"]))
    assert [claims(word) for word in ["HAUS", "WAGEN", "Haus", "wagen", "haus", "Wagen", "haus"]] == [
        [0],  # the first that differs in capitals
        [1, 2],
        [],
        [2],  # spelled alike
        [0],
        [1],
        [],
    ]
