"""Running text into words as the corpora split it."""

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dlfa_adapters.data.words import split_words, word_offsets


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Anna met Bob.", "Anna|met|Bob|."),
        ("(Really?!)", "(|Really|?|!|)"),
        ("a well-known firm, e.g. in the U.S. or U.K.", "a|well-known|firm|,|e.g.|in|the|U.S.|or|U.K."),
        ("Dr. J. Smith takes vitamin C.", "Dr.|J.|Smith|takes|vitamin|C|."),
        ("1,250.5 at 12:30, 50% of $5", "1,250.5|at|12:30|,|50|%|of|$|5"),
        ("2024-05-01 and 1/2", "2024-05-01|and|1/2"),
        ("wait... -- no!!!", "wait|...|--|no|!!!"),
        ("Paris–Berlin and/or R&D", "Paris|–|Berlin|and|/|or|R&D"),
        ("«Bonjour» “hi” „hallo“", "«|Bonjour|»|“|hi|”|„|hallo|“"),
        ("a_b __init__ f(x)==y", "a_b|__init__|f|(|x|)|==|y"),
        ("нет, м'яч — да.", "нет|,|м'яч|—|да|."),
        ("नमस्ते दुनिया।", "नमस्ते|दुनिया|।"),
        ("서울에서 만났다.", "서울에서|만났다|."),
        ('שלום, צה"ל וארה״ב.', 'שלום|,|צה"ל|וארה״ב|.'),
        ("مرحبا، العالم؟", "مرحبا|،|العالم|؟"),
        ("او می\u200cخواهد.", "او|می\u200cخواهد|."),
        ("col·lecció", "col·lecció"),
    ],
)
def test_words_punctuation_numbers_and_abbreviations(text, words):
    assert split_words(text) == words.split("|")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See https://a.b/c?d=e&f=g, or www.x.org.", "See|https://a.b/c?d=e&f=g|,|or|www.x.org|."),
        ("(http://a.org/Rome_(city))", "(|http://a.org/Rome_(city)|)"),
        ("mail anna.b+c@new-york.example.org!", "mail|anna.b+c@new-york.example.org|!"),
        ("@anna: #Rome2024, #नमस्ते @bob@example.org", "@anna|:|#Rome2024|,|#नमस्ते|@bob@example.org"),
        ("请看http://a.org。谢谢 hello there everybody", "请|看|http://a.org|。|谢|谢|hello|there|everybody"),
        ("C# and a @ b # c", "C|#|and|a|@|b|#|c"),
    ],
)
def test_urls_addresses_handles_and_hashtags_stay_whole(text, words):
    assert split_words(text) == words.split("|")


@pytest.mark.parametrize("emoji", ["👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "1️⃣", "❤️", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "#️⃣", "☎"])
def test_emoji_stay_whole_with_their_modifiers(emoji):
    assert split_words(f"ok{emoji}{emoji} {emoji}.") == ["ok", emoji, emoji, emoji, "."]


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        (
            "I don't think John's isn't it; they'd've, couldn’t",
            "en",
            "I|do|n't|think|John|'s|is|n't|it|;|they|'d|'ve|,|could|n’t",
        ),
        ("O'Brien o'clock rock'n'roll D'Angelo dogs'", "en", "O'Brien|o'clock|rock'n'roll|D'Angelo|dogs|'"),
        (
            "L'État qu'il aujourd’hui d’Artagnan jusqu'à c'est",
            "fr",
            "L'|État|qu'|il|aujourd’hui|d’|Artagnan|jusqu'|à|c'|est",
        ),
        ("dell'arte un'altra quest'anno c'è l'11", "it", "dell'|arte|un'|altra|quest'|anno|c'|è|l'|11"),
        ("Ankara'da Bush'un Ali'm d'Artagnan", "tr", "Ankara'da|Bush'un|Ali'm|d'Artagnan"),
        ("foto's", "nl", "foto's"),
        ("п’ять", "uk", "п’ять"),
        ("John's l'eau Ankara'da", None, "John|'s|l'|eau|Ankara'da"),
        ("don't l'eau", "eng_Latn", "do|n't|l'eau"),
        ("'quoted' and ''wiki''", None, "'|quoted|'|and|''|wiki|''"),
    ],
)
def test_apostrophes(text, language, words):
    assert split_words(text, language) == words.split("|")


@pytest.mark.parametrize("language", [None, "ja", "zh", "zh-Hant", "jpn_Jpan"])
def test_chinese_and_japanese_are_split_into_every_single_character(language):
    assert split_words("東京タワーは333mです。", language) == list("東京タワーは333mです。")


def test_the_language_decides_where_the_text_does_not():
    assert split_words("ABC 12", "zh") == list("ABC12")
    assert split_words("東京 is in Japan") == ["東", "京", "is", "in", "Japan"]
    assert split_words("京 A") == ["京", "A"]


def test_a_combining_mark_stays_with_its_character():
    assert split_words("か\u3099く", "ja") == ["か\u3099", "く"]
    assert split_words("葛\U000e0100城", "ja") == ["葛\U000e0100", "城"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("กำแพง hello", "กำ|แ|พ|ง|hello"), ("ພາສາລາວ", "ພ|າ|ສ|າ|ລ|າ|ວ"), ("មិន", "មិ|ន"), ("ရန်ကုန်", "ရ|န်|ကု|န်")],
)
def test_scripts_without_blanks_are_split_into_graphemes(text, words):
    assert split_words(text) == words.split("|")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n\x1c\u2028\u3000\xa0", []),
        ("a\x00b", ["a\x00", "b"]),
        ("\ud800 a\udfff", ["\ud800", "a", "\udfff"]),
        ("\u200babc\u200b.\u200f \u200b", ["\u200babc\u200b", ".\u200f", "\u200b"]),
        ("\u0301 \u0301a", ["\u0301", "\u0301a"]),
    ],
)
def test_odd_characters_do_no_harm(text, words):
    assert split_words(text) == words


odd = st.text(st.characters(exclude_categories=()))
tricky = st.lists(
    st.sampled_from([
        *"'’-.@#antsl1,:/() 東ーกำא_\"", "//", "http", "www", "U.S", "👩", "🇩",
        "\u200d", "\ufe0f", "\u20e3", "\u0301", "\u200b", "\x1c", "\x00", "\ud800",
    ])
).map("".join)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    text=st.one_of(odd, tricky), language=st.sampled_from([None, "en", "fr", "it", "tr", "zh", "ja", "th", "", "x-y"])
)
def test_nothing_but_white_space_is_lost(text, language):
    words = split_words(text, language)
    assert "".join(words) == "".join(text.split())
    assert all(word and not any(map(str.isspace, word)) for word in words)
    assert [text[start:end] for start, end in word_offsets(text, words)] == words


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(odd, tricky))
def test_any_text_leaves_the_words_around_it_alone(text):
    assume(len(text) < 19)  # more could make most of it Chinese
    words = split_words(f"the {text} end of it all in Rome", "en")
    assert words[0] == "the"
    assert words[-6:] == ["end", "of", "it", "all", "in", "Rome"]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "-",
        "a-",
        "a.",
        ".",
        "@",
        "a@",
        "'",
        "http://",
        "www.",
        "(",
        "1,",
        "\u200b",
        "👩\u200d",
        "#",
        "n't",
        "\U0001f1e9\U0001f1ea",
    ],
)
def test_long_text_without_a_blank_loses_nothing_and_ends(unit):
    text = unit * (40_000 // len(unit))
    assert "".join(split_words(text)) == text


@pytest.mark.parametrize("language", [None, "en", "zh"])
@pytest.mark.parametrize("unit", ["n't", "dn't", "'s", "\U0001f1e9\U0001f1ea", "\u200b"])
def test_the_time_grows_with_the_length_alone(unit, language):
    """It grew with the square: over 30 seconds for the first of these, which now takes 0.05."""
    began = time.process_time()
    split_words(unit * 20_000, language)
    assert time.process_time() - began < 3


def test_flags_are_words_as_unicode_has_them():
    german, spanish = "\U0001f1e9\U0001f1ea", "\U0001f1ea\U0001f1f8"
    assert split_words(f"{german}{spanish}{german[0]}a") == [german, spanish, german[0], "a"]
    assert split_words(f"{german}\ufe0f{spanish}", "zh") == [f"{german}\ufe0f", spanish]


def test_offsets_of_words_that_come_twice():
    text = " the end of  the end."
    words = split_words(text, "en")
    assert list(zip(words, word_offsets(text, words), strict=True)) == [
        ("the", (1, 4)), ("end", (5, 8)), ("of", (9, 11)), ("the", (13, 16)), ("end", (17, 20)), (".", (20, 21)),
    ]  # fmt: skip
