"""Unlabelled text of data in any form; rows of it; whole words and pairs: what is hidden, and that nothing is lost."""

import json

import numpy as np
import pytest
import transformers
from tiny_tokenizer import character_tokenizer
from tokenizers import processors

from dlfa_adapters.data.places import Reading
from dlfa_adapters.data.words import split_words
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.learning.adapt.data import mask_domain
from dlfa_adapters.learning.adapt.rows import Pieces, RowMaker, RowMasking, numbers_of
from dlfa_adapters.learning.adapt.text import UnlabelledText, read_unlabelled

PAIRS = [("Anna met Bob", "Bob met Anna"), ("in New York", "Rome is far")]


@pytest.fixture(scope="module")
def tokenizer():
    """Letters as pieces, a mask, and BERT's form of pairs."""
    made = character_tokenizer()
    made.add_special_tokens({"mask_token": "[MASK]"})
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made.backend_tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


# Text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["de.txt", "deu_Latn.txt", "de/text.txt", "train-de.txt", "letters-de.txt"])
def test_a_file_of_text_may_be_called_after_its_language(tmp_path, name):
    write(tmp_path / name, "Guten Morgen.\nBis morgen!\n")
    [language] = read_unlabelled(tmp_path / name).texts
    assert language in ("de", "deu_Latn")


def test_labels_decide_nothing(tmp_path):
    """With other labels, with none, in another order of columns: the same text."""
    words = "Anna\nmet\nBob\n\nRome\n\n"
    forms = {
        "labels": words.replace("Anna\n", "Anna\tB-PER\n").replace("met\n", "met\tO\n").replace("Bob\n", "Bob\tB-PER\n")
        .replace("Rome\n", "Rome\tB-LOC\n"),
        "others": words.replace("Anna\n", "Anna\tO\n").replace("met\n", "met\tB-ORG\n").replace("Bob\n", "Bob\tI-X\n")
        .replace("Rome\n", "Rome\tO\n"),
        "none": words,
    }  # fmt: skip
    for name, content in forms.items():
        write(tmp_path / name / "panx" / "train-de.tsv", content)
        text = read_unlabelled(tmp_path / name, "ner")
        assert text.texts == {"de": ["Anna met Bob", "Rome"]}
        assert text.words == {"de"}


@pytest.mark.parametrize("labels", ["1\n1\n", "", None])
def test_a_file_of_labels_is_not_opened(labels, tmp_path):
    write(tmp_path / "german" / "train_text.txt", "gut\nschlecht\n")
    if labels is not None:
        write(tmp_path / "german" / "train_labels.txt", labels)
    assert read_unlabelled(tmp_path, "sentiment").texts == {"de": ["gut", "schlecht"]}


def test_a_missing_label_is_no_error_and_a_broken_row_is(tmp_path):
    path = write(tmp_path / "train-en.tsv", "text\tlabel\ngood\tx\nbad\t\n")
    assert read_unlabelled(path, "mood").texts == {"en": ["good", "bad"]}
    write(path, "text\tlabel\ngood\tx\nbad\n")
    with pytest.raises(DataError, match=r"train-en\.tsv, line 3: expected 2 columns"):
        read_unlabelled(path, "mood")


def test_pairs_stay_pairs_or_are_two_texts(tmp_path):
    rows = [*PAIRS, ("NS", "a sentence")]
    write(tmp_path / "pawsx" / "train-en.tsv", "".join(f"{a}\t{b}\t1\n" for a, b in rows))
    text = read_unlabelled(tmp_path, "pawsx")
    assert (text.texts, text.dropped, text.words) == ({"en": PAIRS}, {"placeholder": 1}, set())
    text = read_unlabelled(tmp_path, "pawsx", split_pairs=True)
    assert text.texts == {"en": [text for pair in PAIRS for text in pair]}


def test_languages_are_those_asked_for_in_their_order(tmp_path):
    for language in ("de", "en", "sw"):
        write(tmp_path / f"train-{language}.txt", f"{language} one\n\n{language} two\n")
    assert list(read_unlabelled(tmp_path).texts) == ["de", "en", "sw"]
    text = read_unlabelled(tmp_path, languages=["sw", "de"])
    assert text.texts == {"sw": ["sw one", "sw two"], "de": ["de one", "de two"]}
    assert text.dropped == {"empty_line": 2}
    with pytest.raises(DataError, match="fr"):
        read_unlabelled(tmp_path, languages=["fr"])
    named = read_unlabelled({"de": tmp_path / "train-de.txt", "en": tmp_path / "train-en.txt"}, languages=["en"])
    assert (named.texts, named.dropped["other_language"]) == ({"en": ["en one", "en two"]}, 2)


def test_rows_that_tell_their_language(tmp_path):
    rows = [{"text": "gut", "language": "de"}, {"text": "good", "language": "en"}, {"text": " ", "language": "en"}]
    path = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match="expected a key with one of the names label"):
        read_unlabelled(path)
    path = write(tmp_path / "x.jsonl", "\n".join(json.dumps({**row, "label": None}) for row in rows))
    text = read_unlabelled(path)
    assert (text.texts, text.dropped) == ({"de": ["gut"], "en": ["good"]}, {"blank": 1})
    path = write(tmp_path / "y.txt", "\n")
    with pytest.raises(DataError, match="expected text to learn from; there is none"):
        read_unlabelled(path, reading=Reading(format="text"))


# Rows


def pieces(tokenizer, row):
    return tokenizer.convert_ids_to_tokens(row.ids.tolist())


def test_each_piece_has_its_word():
    assert numbers_of("Anna  met.", ["Anna", "met", "."], [(0, 2), (2, 4), (4, 6), (6, 9), (9, 10)]) == [0, 0, 1, 1, 2]
    assert numbers_of("a b", ["a", "b"], [(0, 1), (1, 3), (3, 3)]) == [0, 1, 1]
    assert numbers_of("", [], []) == []


def test_a_pair_is_a_row_as_the_encoder_reads_pairs(tokenizer):
    maker = RowMaker(tokenizer, 64)
    rows = list(maker.rows(PAIRS, "en", False, True))
    for row, (first, second) in zip(rows, PAIRS, strict=True):
        expected = tokenizer(first, second)
        assert row.ids.tolist() == expected["input_ids"]
        assert row.types == expected["token_type_ids"]
        words = [
            None if w is None else (s, w) for s, w in zip(expected.sequence_ids(), expected.word_ids(), strict=True)
        ]
        assert [w == -1 for w in row.words] == [w is None for w in words]
        ours = {}
        for mine, theirs in zip(row.words.tolist(), words, strict=True):
            assert ours.setdefault(mine, theirs) == theirs
        assert len(set(map(str, ours.values()))) == len(ours)
    assert maker.dropped == {}


@pytest.mark.parametrize("length", [9, 10, 15])
def test_of_a_pair_that_is_too_long_the_longer_text_is_cut(tokenizer, length):
    maker = RowMaker(tokenizer, length)
    for pair in (("abc defg hijk lmn", "op"), ("op", "abc defg hijk lmn"), ("abcdefghi", "jklmnopqr")):
        [row] = maker.rows([pair], "en", False, True)
        expected = tokenizer(*pair, truncation="longest_first", max_length=length)["input_ids"]
        assert len(row.ids) == len(row.words) == len(row.types) == length
        if len(pair[0]) == len(pair[1]):  # which of the two has one piece more is nobody's business
            assert abs(row.types.count(0) - 1 - row.types.count(1)) <= 1
        else:
            assert row.ids.tolist() == expected
    whole = sum(len(tokenizer(*pair)["input_ids"]) for pair in (("abc defg hijk lmn", "op"),) * 2)
    assert maker.dropped["pieces_cut_off"] == whole + len(tokenizer("abcdefghi", "jklmnopqr")["input_ids"]) - 3 * length


def test_no_piece_of_single_texts_is_lost(tokenizer):
    texts = [f"{'ab' * (i % 30 + 1)} {'xyz'[i // 30] * 3}" for i in range(60)]
    rows = list(RowMaker(tokenizer, 16).rows(texts, "en", True, False))
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    found = [piece for row in rows for piece in row.ids if piece not in special]
    assert found == [p for text in texts for p in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert all(len(row.ids) <= 16 and len(row.words) == len(row.ids) and row.types is None for row in rows)
    for row in rows:  # a word's pieces stand together, and begin without ## but where a row begins with the rest of one
        tokens = pieces(tokenizer, row)
        for i in range(2, len(tokens)):
            if row.words[i] >= 0 and row.words[i - 1] >= 0:
                assert (row.words[i] == row.words[i - 1]) == tokens[i].startswith("##")


def test_words_of_running_text_are_those_of_the_language(tokenizer):
    """A sentence without blanks is no single word."""
    for language, expected in (("fr", [-1, 0, 0, 1, 1, 2, 2, -1]), ("de", [-1, 0, 0, 0, 0, 1, 1, -1])):
        [row] = RowMaker(tokenizer, 32).rows(["l\u2019ab cd"], language, False, False)
        assert row.words.tolist() == expected, language
    chinese = "\u4f60\u597d\u4e16\u754c"
    assert numbers_of(chinese, split_words(chinese, "zh"), [(0, 1), (1, 3), (3, 4)]) == [0, 2, 3]


# What is hidden


def test_whole_words_are_hidden_or_not(tokenizer):
    text = " ".join(["abcd", "e", "fg", "hij", "k"] * 6)
    [row] = RowMaker(tokenizer, 128).rows([text], "en", True, False)
    masking, hidden_words = RowMasking(tokenizer, True), set()
    for draw in range(200):
        labels = np.array(masking(row, np.random.default_rng(draw)).labels)
        hidden = labels != -100
        assert (labels[hidden] == row.ids[hidden]).all()
        for word in set(row.words[hidden].tolist()):
            assert hidden[row.words == word].all()
            hidden_words.add(word)
        assert 6 <= hidden.sum() <= round(0.15 * 66)  # the words that are left fill all but less than the longest
    assert hidden_words == set(range(30))
    single = RowMasking(tokenizer, False)(row, np.random.default_rng(0))
    assert sum(label != -100 for label in single.labels) == round(0.15 * 66)


def test_a_word_longer_than_the_share_is_hidden_where_there_is_no_other(tokenizer):
    [row] = RowMaker(tokenizer, 32).rows(["abcdefghij klmnop"], "en", True, False)
    labels = np.array(RowMasking(tokenizer, True)(row, np.random.default_rng(0)).labels)
    assert set(row.words[labels != -100].tolist()) == {1}  # the shorter one


def test_of_hidden_words_pieces_are_replaced_as_of_others(tokenizer):
    """80 % by the mask, 10 % by another piece, 10 % stay; special and unknown pieces never."""
    ids = np.array([2, *range(4, 30), 1, 3])
    row = Pieces(ids, np.array([-1, *np.arange(27) // 2, -1]), None)
    masking, shown, hidden = RowMasking(tokenizer, True), [], []
    for draw in range(600):
        result = masking(row, np.random.default_rng((1, draw)))
        at = [i for i, label in enumerate(result.labels) if label != -100]
        assert not {0, 27, 28} & set(at)
        shown += [result.input_ids[i] for i in at]
        hidden += [ids[i] for i in at]
        assert [p for i, p in enumerate(result.input_ids) if i not in at] == [
            p for i, p in enumerate(ids) if i not in at
        ]
    share = np.mean(np.array(shown) == tokenizer.mask_token_id)
    assert abs(share - 0.8) < 0.03
    assert abs(np.mean(np.array(shown) == np.array(hidden)) - 0.1) < 0.03


# Held out


def domain(tokenizer, texts, **changes):
    options = {"whole_words": False, "max_length": 32, "count": 8, "seed": 0}
    return mask_domain(UnlabelledText(texts, set()), tokenizer, "here", **{**options, **changes})


def test_no_copy_of_what_is_held_out_is_learnt_from_in_any_language(tokenizer):
    same = [f"{a}{b}" for a in "abcdef" for b in "ghijk"]
    masked = domain(
        tokenizer, {"en": same, "de": [*same, *(f"z{text}" for text in same)], "sw": ["lonely"]}, max_length=5
    )
    assert set(masked.held_out) == {"en", "de"}

    def words(rows):
        return {tuple(p for p in row if p not in (2, 3)) for row in rows}

    shown = [
        [q if q != -100 else p for p, q in zip(row.input_ids, row.labels, strict=True)]
        for rows in masked.held_out.values() for row in rows
    ]  # fmt: skip
    assert not words(shown) & words(row.ids.tolist() for row in masked.rows.source)
    about = masked.about
    assert (about["languages"], about["pairs"], about["source"]) == ({"en": 30, "de": 60, "sw": 1}, 0, ["here"])
    assert domain(tokenizer, {"en": same}).about["fingerprint"] != domain(tokenizer, {"de": same}).about["fingerprint"]


def test_what_cannot_be_masked(tokenizer):
    with pytest.raises(DataError, match=r"at least 20 different texts in one of the languages, .*, got at most 2"):
        domain(tokenizer, {"en": ["a", "b", "a"], "de": ["c"]})
    many = {"en": [f"a {i * 'b'}" for i in range(30)]}
    with pytest.raises(ConfigError, match="max_length must be at least 5, got 4"):
        domain(tokenizer, many, max_length=4)
    with pytest.raises(DataError, match="knows no piece"):
        domain(tokenizer, {"en": [chr(0x4E00 + i) for i in range(30)]})
    with pytest.raises(ConfigError, match="needs a mask token"):
        domain(character_tokenizer(), many)
