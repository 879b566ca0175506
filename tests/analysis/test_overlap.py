"""Sub-word overlap: by hand, by plain counting, and against scores as scipy and NumPy have it."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from tiny_tokenizer import character_tokenizer
from typer.testing import CliRunner

from dlfa_adapters.analysis.correlation import correlate, needed, pearson
from dlfa_adapters.analysis.overlap import LanguageOverlap, columns_by_language, measure_overlap, sub_words
from dlfa_adapters.analysis.overlap_report import overlap_notes, overlap_tables
from dlfa_adapters.data.places import sample_file
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_cli.main import app


@pytest.fixture(scope="module")
def tokenizer():
    return character_tokenizer()


def marking_tokenizer():
    """Words with a mark of their beginning that is a piece by itself, as SentencePiece has it."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = [("<unk>", 0.0), ("▁", -1.0), *((c, -2.0) for c in "abcdefg中文"), ("▁ab", -1.0), ("</s>", -9.0)]
    tok = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tok, unk_token="<unk>", eos_token="</s>")


def tagged(**sentences):
    """A dataset of words by language."""
    import datasets

    rows = [(language, words.split()) for language, those in sentences.items() for words in those]
    return datasets.Dataset.from_dict(
        {"id": list(map(str, range(len(rows)))), "language": [x for x, _ in rows], "words": [w for _, w in rows]}
    )


def texts(pairs):
    import datasets

    return datasets.Dataset.from_dict(
        {
            "language": [language for language, *_ in pairs],
            "text": [first for _, first, _ in pairs],
            "text_pair": [second for *_, second in pairs],
        }
    )


def names(tokenizer, counts):
    return {tokenizer.convert_ids_to_tokens(piece): times for piece, times in counts.items()}


def test_by_hand(tokenizer):
    train = tagged(en=["ab a", "b"])  # a ##b a b
    test = tagged(de=["ab abc", "c"], en=["a"], ru=["дом a"])
    german, english, russian = measure_overlap(tokenizer, train, test)
    # a ##b, a ##b ##c, c: types a ##b ##c c, of which a and ##b are known; 4 of 6 tokens
    assert (german.items, german.types, german.tokens) == (2, 4, 6)
    assert (german.p_type, german.p_token) == pytest.approx((50.0, 100 * 4 / 6))
    assert (english.p_type, english.p_token, english.unknown) == (100.0, 100.0, 0.0)
    assert [each.is_source for each in (german, english, russian)] == [False, True, False]
    assert [each.family for each in (german, english, russian)] == ["Indo-European"] * 3
    assert (russian.types, russian.p_type, russian.unknown) == (2, 50.0, 50.0)  # [UNK] a


def test_an_unknown_piece_is_never_shared(tokenizer):
    [there] = measure_overlap(tokenizer, tagged(en=["дом a"]), tagged(ru=["кот кот кот a"]))
    assert (there.p_type, there.p_token, there.unknown) == (50.0, 25.0, 75.0)


def test_pieces_of_words_are_those_that_the_encoder_reads(tokenizer):
    """A sentence of many words, some of which are special tokens, or leave nothing."""
    columns = {"words": [["ab", "[SEP]", "ab"], ["\u200b", "C", ""]]}
    # This tokenizer knows no blank of width 0; of "" it leaves nothing.
    assert names(tokenizer, sub_words(tokenizer, columns)) == {"a": 2, "##b": 2, "C": 1, "[UNK]": 2}
    assert names(tokenizer, sub_words(tokenizer, {"words": [["", ""]]})) == {}


def test_texts_and_pairs(tokenizer):
    columns = {"text": ["ab a", "b"], "text_pair": ["c", None]}
    assert names(tokenizer, sub_words(tokenizer, columns)) == {"a": 2, "##b": 1, "b": 1, "c": 1}
    assert "[CLS]" not in names(tokenizer, sub_words(tokenizer, {"text": ["a [CLS] [SEP]"], "text_pair": [None]}))
    [there] = measure_overlap(
        tokenizer, texts([("en", "ab a", "c")]), texts([("de", "ab c", "c d"), ("de", "a", None)])
    )
    assert (there.items, there.types, there.tokens) == (2, 4, 6)
    assert (there.p_type, there.p_token) == pytest.approx((75.0, 100 * 5 / 6))


def test_marks_of_a_beginning_are_no_sub_words():
    tokenizer = marking_tokenizer()
    assert names(tokenizer, sub_words(tokenizer, {"words": [["中", "文", "ab"]]})) == {"中": 1, "文": 1, "▁ab": 1}
    assert names(tokenizer, sub_words(tokenizer, {"text": ["中 文 ab"], "text_pair": [None]})) == {
        "中": 1, "文": 1, "▁ab": 1
    }  # fmt: skip
    [there] = measure_overlap(tokenizer, tagged(en=["ab c"]), tagged(zh=["中 文"]))
    assert (there.p_type, there.p_token) == (0.0, 0.0)


def test_all_of_a_long_sentence_counts(tokenizer):
    columns = {"words": [["a"] * 3000], "text": ["never read where there are words"]}
    assert sub_words(tokenizer, columns).total() == 3000
    assert sub_words(tokenizer, {"text": ["a " * 3000]}).total() == 3000


def test_equal_to_plain_counting_on_samples(tokenizer):
    train = load_data(sample_file("ner", "train", "en"), "ner", "train", ["en"])
    test = load_data("samples:ner", "ner", "test", ["de", "sw", "el"])
    known = {piece for words in train["words"] for piece in pieces_of(tokenizer, words)}
    for found in measure_overlap(tokenizer, train, test):
        counts = Counter(
            piece
            for language, words in zip(test["language"], test["words"], strict=True)
            if language == found.language
            for piece in pieces_of(tokenizer, words)
        )
        shared = [piece for piece in counts if piece in known - {"[UNK]"}]
        assert (found.types, found.tokens) == (len(counts), counts.total())
        assert found.p_type == pytest.approx(100 * len(shared) / len(counts))
        assert found.p_token == pytest.approx(100 * sum(counts[x] for x in shared) / counts.total())
    assert 0 < found.p_token < 100


def pieces_of(tokenizer, words):
    return [piece for word in words for piece in tokenizer.tokenize(word)]


def test_a_limit_is_of_each_language_and_sentences_without_words_do_not_count():
    data = tagged(de=["a", "", "b", "c"], en=["d"])
    assert columns_by_language(data, 2) == {"de": {"words": [["a"], ["b"]]}, "en": {"words": [["d"]]}}
    assert columns_by_language(data)["de"] == {"words": [["a"], ["b"], ["c"]]}


def test_data_without_sub_words(tokenizer):
    with pytest.raises(DataError, match="training data with sub-words"):
        measure_overlap(tokenizer, tagged(en=[""]), tagged(de=["a"]))
    with pytest.raises(DataError, match=r"test data with sub-words.*none in de"):
        measure_overlap(tokenizer, tagged(en=["a"]), tagged(de=[""]))


def overlap(language, p_type, p_token=50.0, tokens=100, source=False):
    return LanguageOverlap(
        language=language, family=None, is_source=source, items=10, types=10, tokens=tokens, p_type=p_type,
        p_token=p_token, unknown=0.0,
    )  # fmt: skip


FOUND = [overlap("eng_Latn", 100, 100, source=True), overlap("de", 40, 70), overlap("sw", 30, 75), overlap("zh", 5, 8)]
SCORES = {"mine": {"en": 90.0, "de": 70.0, "sw": 55.0, "zh": 20.0, "fi": 1.0}}


def test_r_and_its_p_value_by_hand():
    x, y = [40, 30, 5], [70.0, 55.0, 20.0]
    r, low, high, p = pearson(x, y)
    dx, dy = np.array(x) - np.mean(x), np.array(y) - np.mean(y)
    expected = (dx * dy).sum() / math.sqrt((dx**2).sum() * (dy**2).sum())
    assert r == pytest.approx(expected)
    assert (low, high) == (None, None)
    # With one degree of freedom Student's t is Cauchy's distribution.
    t = r / math.sqrt((1 - r**2) / 1)
    assert p == pytest.approx(1 - 2 * math.atan(t) / math.pi)
    r, low, high, p = pearson([*x, 100], [*y, 90.0])
    assert r == pytest.approx(np.corrcoef([*x, 100], [*y, 90.0])[0, 1])
    half = 1.959963985 / math.sqrt(4 - 3)
    assert (low, high) == pytest.approx((math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)))


@pytest.mark.parametrize("values", [([1.0], [2.0]), ([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])])
def test_where_r_is_not_defined(values):
    assert pearson(*values) == (None, None, None, None)


@pytest.mark.parametrize("languages", [3, 5, 9, 30])
def test_how_large_r_must_be(languages):
    """A sample with exactly that r has p = 0.05."""
    random = np.random.default_rng(languages)
    x, noise = random.normal(size=(2, languages))
    x -= x.mean()
    noise -= noise.mean()
    noise -= x * (noise @ x) / (x @ x)
    r = needed(languages)
    y = r * x / np.linalg.norm(x) + math.sqrt(1 - r**2) * noise / np.linalg.norm(noise)
    found, _, _, p = pearson(x, y)
    assert (found, p) == pytest.approx((r, 0.05))


def test_with_and_without_the_source():
    found = correlate(FOUND, SCORES)
    assert [(each.measure, each.with_source, each.languages) for each in found] == [
        (measure, source, [*["eng_Latn"] * source, "de", "sw", "zh"])
        for measure in ("p_type", "p_token")
        for source in (True, False)
    ]
    assert found[0].r == pytest.approx(np.corrcoef([100, 40, 30, 5], [90, 70, 55, 20])[0, 1])
    assert found[3].r == pytest.approx(np.corrcoef([70, 75, 8], [70, 55, 20])[0, 1])
    assert {each.with_source for each in correlate(FOUND[1:], SCORES)} == {False}
    with pytest.raises(DataError, match=r"languages of the test data \(de\), but those of mine are in en, fi"):
        correlate(FOUND[1:2], {"mine": {"en": 1.0, "fi": 2.0}})


def test_tables_and_notes():
    found = correlate(FOUND, SCORES)
    languages, correlations = overlap_tables(FOUND, SCORES, found)
    assert languages.header[-1] == "mine"
    assert [row[0] for row in languages.rows] == ["eng_Latn (source)", "de", "sw", "zh"]
    assert languages.rows[1][-4:] == ["40.0", "70.0", "0.0", "70.0"]
    assert [row[2] for row in correlations.rows] == ["with", "without"] * 2
    assert correlations.rows[0][4] == f"{found[0].r:+.2f}"
    assert correlations.rows[1][5] == ""
    assert correlations.rows[0][6] == f"{found[0].p_value:.3f}"
    sure = correlate(many := [overlap(x, i) for i, x in enumerate("de fr es it nl sv".split())], {"s": {
        each.language: each.p_type for each in many
    }})  # fmt: skip
    assert overlap_tables(many, {"s": {}}, sure)[1].rows[0][4:] == ["+1.00", "[+1.00, +1.00]", "< 0.001"]
    notes = " ".join(overlap_notes(FOUND, SCORES, found))
    assert "mine has scores in fi, of which there are no test data" in notes
    assert f"Over 4 languages |r| must be above {needed(4):.2f}" in notes
    assert "Over 3 languages |r| must be above 0.997 for" in notes
    assert "sub-words; more text" not in notes
    few = [*FOUND[:2], overlap("fi", 3, tokens=1000), overlap("ja", 3)]
    notes = " ".join(
        overlap_notes(few, {"mine": {"en": 1.0, "de": 2.0}}, correlate(few, {"mine": {"en": 1.0, "de": 2.0}}))
    )
    assert "mine has no score in fi, ja" in notes
    assert "Over 2 languages there is no correlation" in notes
    assert "Over 1 language there is no correlation" in notes
    assert "100 to 1,000 sub-words; more text has more rare ones" in notes
    flat = correlate(FOUND, {"flat": dict.fromkeys(("en", "de", "sw", "zh"), 3.0)})
    assert [each.r for each in flat] == [None] * 4
    assert "r is not defined" in " ".join(overlap_notes(FOUND, {}, flat))
    assert overlap_tables(FOUND, {}, [])[0].header[-1] == "% unknown"
    many = [overlap(language, i) for i, language in enumerate("de fr es it nl sv da fi et hu".split())]
    scores = {"s": {each.language: each.p_type + i % 3 for i, each in enumerate(many)}}
    assert "must be above" not in " ".join(overlap_notes(many, scores, correlate(many, scores)))


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "overlap", *map(str, arguments)])


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("language,last,D_8\nen,90,91\nde,70,72\nsw,55,50\nzh,20,31\n", "utf-8")
    return path


NER = ("ner", "--train", "samples:ner", "--data", "samples:ner")


def test_test_data_of_another_kind_are_told_by_their_option(command, tmp_path):
    (tmp_path / "mood-en.tsv").write_text("text\tlabel\nA good day.\tgood\nA bad one.\tbad\n", "utf-8")
    done = command("mood", "--train", tmp_path / "mood-en.tsv", "--data", "samples:ner")
    assert "expected test data like the training data, texts with labels" in str(done.exception)
    assert "name others with --data." in str(done.exception)


def test_the_command_prints_and_draws(command, tiny_folder, scores, tmp_path):
    done = command(
        *NER, "--model", tiny_folder, "--languages", "en,de,sw,zh", "--scores", scores, "--plot", tmp_path / "x.svg"
    )
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.stdout.splitlines()[2:6]] == ["en", "de", "sw", "zh"]
    assert done.stdout.count(" without ") == 4
    drawing = (tmp_path / "x.svg").read_text("utf-8")
    assert drawing.count("<!-- sw -->") == 4
    assert "without source: r = " in drawing
    assert "Indo-European, as the source (ring)" in drawing


def test_the_command_as_json(command, tiny_folder, scores):
    done = command(*NER, "--model", tiny_folder, "--languages", "de,sw,zh", "--limit", 5, "--scores", scores, "--json")
    told = json.loads(done.stdout)
    assert (told["split"], told["limit"], list(told["scores"])) == ("test", 5, ["last", "D_8"])
    train = load_data("samples:ner", "ner", "train", ["en"])
    test = load_data("samples:ner", "ner", "test", ["de", "sw", "zh"])
    direct = measure_overlap(character_tokenizer(), train, test, 5)
    assert told["languages"] == [each.to_dict() for each in direct]
    by_model = {"last": {"de": 70, "sw": 55, "zh": 20}, "D_8": {"de": 72, "sw": 50, "zh": 31}}
    assert [each["r"] for each in told["correlations"]] == [each.r for each in correlate(direct, by_model)]


def test_the_command_without_scores(command, tiny_folder):
    done = command(*NER, "--model", tiny_folder, "--languages", "de")
    assert done.exit_code == 0, done.output
    assert "Pearson" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ner", "--train", "none.tsv", "--data", "samples:ner"], "none.tsv: expected a file"),
        (["ner", "--train", "samples:ner", "--data", "none"], "none: expected a file"),
        ([*NER, "--scores", "none.json"], "none.json: expected a file"),
        ([*NER, "--plot", "x.svg"], "add --scores"),
        ([*NER, "--split", "x"], "expected the split"),
        ([*NER, "--model", "./none"], "no such folder"),
    ],
)
def test_what_the_command_refuses(command, arguments, message):
    done = command(*arguments)
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError), match=message):
        raise done.exception
