"""The first sentences of documents: parted by sentencex, the first and the others as a pair."""

import sys

import pytest

from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.sentences import check_splitter, cut_documents, split_sentences
from dlfa_adapters.ground.errors import ConfigError, DataError, MissingExtraError

SPLIT = {
    "en": "Mr. Smith of J.P. Morgan said so. | Prices rose 2.5 percent! | Did they?",
    "de": "Am 3. Oktober stieg der DAX um 2,5 %. | Das sagte Dr. Müller.",
    "es": "El Sr. Aznar viajó a EE.UU. el lunes. | ¿Volverá?",
    "it": "Il dott. Rossi è qui. | Fine.",
    "ru": "Об этом сообщил г. Иванов. | Цены выросли.",
    "fr": "Il est parti. | Tant pis !",
}
SOLID = {"zh": "路透社东京电。|美元上涨。|第三句！", "ja": "株は上昇した。|「買いだ」と述べた。"}


@pytest.mark.parametrize("language", SPLIT)
def test_sentences_in_the_languages_of_mldoc(language):
    sentences = SPLIT[language].split(" | ")
    assert split_sentences(" ".join(sentences), language) == sentences
    assert split_sentences("\n\n  ".join(sentences) + " \n", language) == sentences


@pytest.mark.parametrize("language", SOLID)
def test_sentences_without_blanks_between_them(language):
    assert split_sentences(SOLID[language].replace("|", ""), language) == SOLID[language].split("|")


def test_codes_of_three_letters_and_with_a_script_are_known():
    text = SPLIT["de"].replace(" | ", " ")
    for code in ("de", "DE", "deu", "deu_Latn", "de-AT"):
        assert len(split_sentences(text, code)) == 2
    for code in (None, "", "und", "en", "xx"):
        assert len(split_sentences(text, code)) == 3  # the rules of English: `Am 3.` ends a sentence


@pytest.mark.parametrize("text", ["", "  ", "\n", "no end", ". . .", "a\ud800b"])
def test_a_text_is_at_least_one_sentence(text):
    [sentence] = split_sentences(text, "en")
    assert sentence == text.strip().replace("\ud800", "?") or not text.strip()


def test_the_first_and_the_others_up_to_so_many():
    texts = ["One. Two. Three.", "One. Two.", "One.", ""]
    assert cut_documents(texts, None, 1, ["en"] * 4) == (["One.", "One.", "One.", ""], [None] * 4)
    assert cut_documents(texts, None, 2, ["en"] * 4) == (["One.", "One.", "One.", ""], ["Two.", "Two.", None, None])
    assert cut_documents(texts, [None] * 4, 3, ["en"] * 4)[1] == ["Two. Three.", "Two.", None, None]
    assert cut_documents(texts, ["x"] * 4, None, []) == (texts, ["x"] * 4)


def test_the_language_is_that_of_each_document():
    text = SPLIT["de"].replace(" | ", " ")
    assert cut_documents([text, text], None, 2, ["de", "en"])[0] == [SPLIT["de"].split(" | ")[0], "Am 3."]


def test_pairs_are_no_documents():
    with pytest.raises(DataError, match="takes single texts, but there are pairs, one with the second text 'Two'"):
        cut_documents(["One.", "One."], [None, "Two"], 2, ["en", "en"])


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "2"])
def test_a_number_of_sentences(count):
    with pytest.raises(ConfigError, match="first_sentences must be a whole number from 1 up"):
        check_splitter(count)


def test_what_to_install(monkeypatch):
    check_splitter(2)
    monkeypatch.setitem(sys.modules, "sentencex", None)
    check_splitter(None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[sentences\]'"):
        check_splitter(2)


def test_a_document_of_one_sentence_is_no_pair(tiny_folder):
    """As the tokenizer writes it: [CLS] a [SEP], or [CLS] a [SEP] b [SEP]."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    items, counts = encode_texts(tokenizer, ["Anna met", "Bob"], ["in Rome", None])
    for item, expected in zip(items, (tokenizer("Anna met", "in Rome"), tokenizer("Bob")), strict=True):
        assert item.input_ids == expected["input_ids"]
        assert item.token_type_ids == expected["token_type_ids"]
    assert counts.pieces_total == sum(len(item.input_ids) for item in items)
    long, _ = encode_texts(tokenizer, ["a" * 50, "b" * 50], ["c", None], max_length=9)
    assert [len(item.input_ids) for item in long] == [9, 9]
    with pytest.raises(DataError, match="expected a second text for each of 2 texts, got 1"):
        encode_texts(tokenizer, ["a", "b"], [None])
    with pytest.raises(DataError, match="expected a list of texts, got the text 'ab'"):
        encode_texts(tokenizer, ["a", "b"], "ab")
