"""Data from files, folders, the hub, the samples and Python lists: the same columns, nothing lost unsaid."""

import json
import logging

import datasets
import pytest

from dlfa_adapters.data import hub
from dlfa_adapters.data.sources import load_data, load_source
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.tasks import get_task

PAWSX = (
    "id\tsentence1\tsentence2\tlabel\n1\tA b .\tNS\t0\n2\t\t\t0\n3\tA b .\t\t1\n4\tNS\tNS\t1\n"
    "5\tNS is short .\tNS means no .\t1\n6\tA b .\tB a .\t1\n"
)


def features(kind):
    return {**dict.fromkeys(("id", "language"), datasets.Value("string")), **kind_named(kind).features()}


def put(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_file_becomes_a_dataset_with_the_common_columns(tmp_path):
    path = put(tmp_path, "panx/test-de.tsv", "Bonn\tB-LOC\nam\tO\nRhein\tB-LOC\n\nAnna\tB-PER\n")
    data = load_data(path, task="ner")
    assert data.features == features("tagging")
    assert data.to_list() == [
        {"id": "0", "language": "de", "words": ["Bonn", "am", "Rhein"], "tags": ["B-LOC", "O", "B-LOC"]},
        {"id": "1", "language": "de", "words": ["Anna"], "tags": ["B-PER"]},
    ]


@pytest.fixture
def xtreme(tmp_path):
    for language in ("en", "de", "sw"):
        put(tmp_path, f"panx/dev-{language}.tsv", f"{language}\tO\n")
        put(tmp_path, f"panx/test-{language}.tsv", f"{language}\n\nword\n")
        put(tmp_path, f"udpos/dev-{language}.tsv", f"{language}\tX\n")
        put(tmp_path, f"xnli/dev-{language}.tsv", f"{language} a\tb\tneutral\n")
    put(tmp_path, "panx/train-en.tsv", "en\tO\n")
    return tmp_path


def test_xtreme_folder_by_task_split_and_languages(xtreme):
    assert load_data(xtreme, task="ner", split="dev")["language"][:] == ["de", "en", "sw"]
    assert load_data(xtreme, task="ner", split="dev", languages=["sw", "de"])["language"][:] == ["sw", "de"]
    assert load_data(xtreme, task="pos", split="dev", languages="de")["tags"][:] == [["X"]]
    assert load_data(xtreme, task="xnli", split="dev", languages=["en"])["text"][:] == ["en a"]
    assert load_data(xtreme / "panx", task="ner", split="train").num_rows == 1


def test_data_without_labels_are_told_where_one_stands(tmp_path):
    (tmp_path / "plain.txt").write_text("I like it\nAwful\n", "utf-8")
    with pytest.raises(DataError, match="but '0' has none; it stands behind the text, with a TAB between them"):
        load_data(tmp_path / "plain.txt", split="train")
    (tmp_path / "words.tsv").write_text("Anna\nmet\n\nRome\n", "utf-8")
    with pytest.raises(DataError, match="words only; it stands behind the word, with a TAB between them"):
        load_data(tmp_path / "words.tsv", split="dev")


def test_xtreme_withholds_the_labels_of_tests(xtreme):
    with pytest.raises(DataError, match=r"expected a tag for every word, but there are words only .* use split='dev'"):
        load_data(xtreme, task="ner", split="test")


def test_a_language_that_is_named_twice_is_read_once(xtreme, tmp_path):
    assert load_data(xtreme, task="ner", split="dev", languages=["de", "sw", "de"])["language"][:] == ["de", "sw"]


def test_a_file_is_in_the_language_that_its_name_says(tmp_path):
    rows = "Bonn\tB-LOC\nam\tO\n\n"
    for name in ("test-de.tsv", "de/test.tsv", "de_pud-ud-test.tsv"):
        path = put(tmp_path, name, rows)
        with pytest.raises(DataError, match=f"{name}: expected a file in xx, but its name says de; leave the language"):
            load_data(path, languages=["xx"])
        for languages in (None, "de", "deu", "deu_Latn"):
            assert load_data(path, languages=languages)["language"][:] == [languages or "de"]
    for name in ("test.tsv", "mine-it.tsv", "deu_Latn/test.tsv"):  # nothing said, or not for certain
        assert load_data(put(tmp_path, name, rows), languages=["sw"])["language"][:] == ["sw"]


def test_a_language_that_is_there_under_another_spelling_is_named(tmp_path):
    for folder in ("eng_Latn", "deu_Latn", "zho_Hans"):
        put(tmp_path, f"{folder}/test.tsv", "Bonn\tB-LOC\nam\tO\n\n")
    with pytest.raises(DataError, match="deu_Latn, eng_Latn, zho_Hans; type eng_Latn for en, zho_Hans for zh, as the"):
        load_data(tmp_path, languages=["en", "zh", "fr"])
    with pytest.raises(DataError, match=r"for deu_Latn, eng_Latn, zho_Hans$"):
        load_data(tmp_path, languages=["fr"])
    with pytest.raises(DataError, match="but not for deu_Latn; type de for deu_Latn, as the data spell it"):
        load_data("samples:ner", languages=["deu_Latn"])
    own = put(tmp_path, "own.jsonl", '{"text": "Bonn", "label": "a", "language": "de"}\n')
    with pytest.raises(DataError, match="expected items in deu, but there are items in de; type de for deu"):
        load_data(own, languages=["deu"])


def test_nothing_at_all_is_in_no_language(tmp_path):
    for source in (put(tmp_path, "empty.tsv", "\n"), []):
        with pytest.raises(DataError, match="expected sentences or examples, but there are none"):
            load_data(source, languages=["sw"])


def test_what_is_no_language_is_no_name_of_one(tmp_path):
    path = put(tmp_path, "mine.tsv", "Bonn\tB-LOC\nam\tO\n\n")
    for source in (path, [(["Bonn", "am"], ["B-LOC", "O"])]):
        for language in ("xx", "xx_Latn", "german"):
            with pytest.raises(ConfigError, match=rf"^expected the code of a language, such as de.* '?{language}"):
                load_data(source, languages=[language])
        for language in ("swh", "SW", "sh", "und", "zh-min-nan"):
            assert load_data(source, languages=[language])["language"][:] == [language]
    own = put(tmp_path, "own.jsonl", '{"text": "Bonn", "label": "a", "language": "xx"}\n')  # as the data spell it
    assert load_data(own, languages=["xx"])["language"][:] == ["xx"]


def test_missing_languages_and_splits_are_named(xtreme):
    with pytest.raises(DataError, match="expected a dev file for fi, yo, but there are files for de, en, sw"):
        load_data(xtreme, task="ner", split="dev", languages=["en", "fi", "yo"])
    with pytest.raises(DataError, match="expected files of the split 'train', but there are only dev"):
        load_data(xtreme / "xnli", split="train")
    with pytest.raises(DataError, match=r"no file like test-de\.tsv"):
        load_data(put(xtreme, "empty/x.md", "").parent, split="test")
    with pytest.raises(DataError, match="expected the split train, dev or test, but got 'validation'"):
        load_data(xtreme, split="validation")
    with pytest.raises(DataError, match="expected a file or a folder, but there is none of this name"):
        load_data(xtreme / "pan-x", task="ner")


def test_universal_dependencies_folder(tmp_path):
    row = "1\t{}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    put(tmp_path, "UD_German-GSD/de_gsd-ud-test.conllu", row.format("Haus"))
    put(tmp_path, "UD_English-EWT/en_ewt-ud-test.conllu", row.format("house"))
    put(tmp_path, "UD_English-EWT/README.md", "text")
    data = load_data(tmp_path, task="pos")
    assert [(row["language"], row["words"]) for row in data] == [("de", ["Haus"]), ("en", ["house"])]


def test_folder_a_language_and_sentiment_in_two_files(tmp_path):
    for name in ("german", "hindi"):
        put(tmp_path, f"{name}/val_text.txt", "a\nb\nc\n")
        put(tmp_path, f"{name}/val_labels.txt", "0\n1\n2\n")
    loaded = load_source(tmp_path, task="sentiment", split="dev")
    assert loaded.dataset["language"][:] == ["de"] * 3 + ["hi"] * 3
    assert loaded.dataset["label"][:3] == ["negative", "neutral", "positive"]
    assert [problem.kind for problem in loaded.problems] == ["spelling"]


def test_c11_training_leaves_placeholders_out_and_counts_them(tmp_path):
    path = put(tmp_path, "de/train.tsv", PAWSX)
    loaded = load_source(path, task="pawsx", split="train")
    assert loaded.dropped == {"placeholder": 2, "blank": 2}
    assert loaded.dataset["id"][:] == ["5", "6"]
    assert json.loads(loaded.dataset.info.description)["dropped"] == {"placeholder": 2, "blank": 2}


def test_c11_tests_keep_the_official_number_of_rows(tmp_path):
    data = load_data(put(tmp_path, "de/test_2k.tsv", PAWSX), task="pawsx", split="test")
    assert data.features == features("classification")
    assert data["id"][:] == ["1", "2", "3", "4", "5", "6"]
    assert data["placeholder"][:] == [True, True, True, True, False, False]
    assert set(data["language"]) == {"de"}


def test_a_folder_of_tags_and_texts_is_refused(tmp_path):
    put(tmp_path, "test-de.tsv", "Anna\tB-PER\nmet\tO\n")
    put(tmp_path, "test-en.jsonl", '{"text": "a", "label": "x"}\n')
    with pytest.raises(DataError, match="both words with tags and whole texts"):
        load_data(tmp_path)


def test_c12_languages_of_the_official_xnli_file(tmp_path):
    text = "language\tgold_label\tsentence1\tsentence2\nde\tneutral\ta\tb\nen\t-\tc\td\nen\tcontradiction\te\tf\n"
    path = put(tmp_path, "XNLI-1.0/xnli.dev.tsv", text)
    assert load_data(path, task="xnli", split="dev")["language"][:] == ["de", "en"]
    only = load_data(path, task="xnli", split="dev", languages=["en"])
    assert [(row["id"], row["label"]) for row in only] == [("2", "contradiction")]


def test_c17_labels_the_task_does_not_know_stay_and_are_named_once(tmp_path, caplog):
    path = put(tmp_path, "test-en.tsv", "Rome\tB-LOC\nBob\tB-MISC\nAl\tB-MISC\n")
    with caplog.at_level(logging.WARNING):
        loaded = load_source(path, task="ner")
    assert loaded.dataset["tags"][0] == ["B-LOC", "B-MISC", "B-MISC"]
    assert loaded.unknown_labels == {"B-MISC": 2}
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "labels that ner does not know: B-MISC (2); they are kept and count as errors" in messages[0]


def test_c17_label_order_does_not_come_from_files(tmp_path):
    en = put(tmp_path, "test-en.tsv", "a\tO\nb\tB-PER\nc\tI-PER\n")
    de = put(tmp_path, "test-de.tsv", "b\tB-PER\nc\tI-PER\na\tO\n")
    ids = {label: index for index, label in enumerate(get_task("ner").labels)}
    for path, wanted in ((en, [0, 1, 2]), (de, [1, 2, 0])):
        assert [ids[tag] for tag in load_data(path, task="ner")["tags"][0]] == wanted


def test_c13_iob1_from_any_source_becomes_iob2():
    data = load_data([(["Anna", "Lee", "Bob", "met"], ["I-PER", "I-PER", "B-PER", "O"])], task="ner")
    assert data["tags"][0] == ["B-PER", "I-PER", "B-PER", "O"]


def test_iterables_in_all_forms():
    tagging = load_data([(("Anna", "met"), ("B-PER", "O"))], task="ner", languages="en")
    assert tagging.to_list() == [{"id": "0", "language": "en", "words": ["Anna", "met"], "tags": ["B-PER", "O"]}]
    rows = [{"words": ["a"], "tags": ["O"], "language": "sw", "id": "x"}]
    assert load_data(rows)["language"][:] == ["sw"]
    assert load_data(tagging).to_list() == tagging.to_list()
    single = load_data([("good", "positive")], task="sentiment")
    assert (single["text"][0], single["text_pair"][0], single["label"][0]) == ("good", None, "positive")
    pair = load_data([("a", "b", "contradictory")], task="xnli")
    assert (pair["text_pair"][0], pair["label"][0]) == ("b", "contradiction")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([(["a", "b"], ["O"])], "item 0: expected a tag a word, but there are 2 words and 1 tags"),
        ([("a", "b"), (["a"], ["O"])], "expected all items of one kind, but item 1 is of another"),
        ([(["a"], ["O"]), 7], r"expected item 1 to be \(words, tags\)"),
        ([{"words": ["a"]}], r"but got the keys \['words'\]"),
        ([], "expected sentences or examples, but there are none"),
        ([(["\ud800"], ["O"])], "expected Unicode text, but there is a lone surrogate"),
    ],
)
def test_bad_items(items, message):
    with pytest.raises(DataError, match=message):
        load_data(items)


def test_kind_of_data_and_task_must_agree():
    with pytest.raises(DataError, match="expected data for ner, a tagging task, but this is classification data"):
        load_data([("a", "b")], task="ner")


def test_empty_file_and_unknown_format(tmp_path):
    path = put(tmp_path, "test-en.tsv", "")
    with pytest.raises(DataError, match="expected sentences or examples, but there are none"):
        load_data(path, languages=["en"])
    with pytest.raises(DataError, match=r"test-en\.tsv: expected sentences or examples, but there are none"):
        load_data(path)
    with pytest.raises(ConfigError, match="expected a format among conllu, columns"):
        load_data(path, format="csv")


@pytest.mark.parametrize(("name", "task"), [("ner", "ner"), ("pos", "pos"), ("nli", "xnli")])
def test_samples(name, task):
    train = load_source(f"samples:{name}", task=task, split="train")
    test = load_source(f"samples:{name}", task=task)
    assert set(train.dataset["language"]) == {"en"}
    assert {"de", "zh", "ar"} <= set(test.dataset["language"])
    assert train.unknown_labels == test.unknown_labels == {}
    assert not train.dropped
    with pytest.raises(DataError, match=f"samples:{name} has test data for .*, but not for xx"):
        load_data(f"samples:{name}", languages=["xx"])


def test_no_such_samples():
    with pytest.raises(DataError, match=r"expected samples:ner, .*samples:nli, samples:pawsx, but got 'samples:qa'"):
        load_data("samples:qa")


# ---- the hub: load_dataset is replaced by tiny data sets with the documented columns ----

NER_NAMES = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]


def tagged(column, names):
    return datasets.Dataset.from_dict(
        {"tokens": [["Bonn", "am"]], column: [[5, 0]] if column == "ner_tags" else [[7, 1]], "langs": [["de", "de"]]},
        features=datasets.Features(
            {
                "tokens": datasets.List(datasets.Value("string")),
                column: datasets.List(datasets.ClassLabel(names=names)),
                "langs": datasets.List(datasets.Value("string")),
            }
        ),
    )


def pair_data(names, labels, first="premise", second="hypothesis", **more):
    count = len(labels)
    label = datasets.ClassLabel(names=names) if names else datasets.Value("string")
    columns = {first: [f"a{i}" for i in range(count)], second: [f"b{i}" for i in range(count)], "label": labels, **more}
    features = {first: datasets.Value("string"), second: datasets.Value("string"), "label": label}
    features |= {key: datasets.Value("int64" if key == "id" else "string") for key in more}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


@pytest.fixture
def calls(monkeypatch):
    """Records the calls of load_dataset and answers with what the test puts into `answers`."""
    made = []
    answers = []

    def load_dataset(*args, **kwargs):
        made.append((args, kwargs))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return made, answers


def test_hub_panx(calls):
    made, answers = calls
    answers += [tagged("ner_tags", NER_NAMES)] * 2
    data = load_data("hub:panx", task="ner", split="dev", languages=["de", "af"])
    assert made == [
        (("google/xtreme", "PAN-X.de"), {"split": "validation"}),
        (("google/xtreme", "PAN-X.af"), {"split": "validation"}),
    ]
    assert data.features == features("tagging")
    assert [(row["language"], row["words"], row["tags"]) for row in data] == [
        ("de", ["Bonn", "am"], ["B-LOC", "O"]),
        ("af", ["Bonn", "am"], ["B-LOC", "O"]),
    ]


def test_hub_udpos_has_language_names(calls):
    made, answers = calls
    answers.append(tagged("pos_tags", list(get_task("pos").labels)))
    data = load_data("hub:udpos", task="pos", languages=["yo"])
    assert made == [(("google/xtreme", "udpos.Yoruba"), {"split": "test"})]
    assert data["tags"][0] == ["NOUN", "ADP"]


def test_hub_xnli_class_ids_and_missing_labels(calls):
    made, answers = calls
    answers.append(pair_data(["entailment", "neutral", "contradiction"], [2, -1, 0]))
    loaded = load_source("hub:xnli", task="xnli", split="train", languages=["sw"])
    assert made == [(("facebook/xnli", "sw"), {"split": "train"})]
    assert [(row["id"], row["label"]) for row in loaded.dataset] == [("0", "contradiction"), ("2", "entailment")]
    assert loaded.dropped == {"no_gold_label": 1}


def test_hub_xtreme_xnli_has_all_languages_in_one(calls):
    made, answers = calls
    answers.append(
        datasets.Dataset.from_dict(
            {
                "language": ["ar", "de", "ar"],
                "sentence1": ["a", "b", "c"],
                "sentence2": ["x", "y", "z"],
                "gold_label": ["neutral", "entailment", "contradiction"],
            }
        )
    )
    data = load_data("hub:xtreme-xnli", task="xnli", languages=["de", "ar"])
    assert made == [(("google/xtreme", "XNLI"), {"split": "test"})]
    assert [(row["language"], row["text"]) for row in data] == [("de", "b"), ("ar", "a"), ("ar", "c")]


def test_hub_pawsx_marks_placeholders(calls):
    _, answers = calls
    data = pair_data(["0", "1"], [0, 1], "sentence1", "sentence2", id=[7, 8])
    answers += [data.map(lambda row: {"sentence2": "NS"} if row["id"] == 8 else row)] * 2
    test = load_data("hub:pawsx", task="pawsx", languages=["de"])
    assert [(row["id"], row["label"], row["placeholder"]) for row in test] == [("7", "0", False), ("8", "1", True)]
    train = load_source("hub:pawsx", task="pawsx", split="train", languages=["de"])
    assert train.dataset["id"][:] == ["7"]
    assert train.dropped == {"placeholder": 1}


def test_hub_universal_dependencies_without_ranges_and_with_either_name_of_dev(calls):
    made, answers = calls
    rows = {"sent_id": ["s1"], "tokens": [["du", "de", "le"]], "upos": [["_", "ADP", "DET"]]}
    answers += [ValueError('Unknown split "validation".'), datasets.Dataset.from_dict(rows)]
    loaded = load_source("hub:universal_dependencies", task="pos", split="dev", languages=["fr_gsd"])
    assert [args for args, _ in made] == [("commul/universal_dependencies", "fr_gsd")] * 2
    assert [kwargs["split"] for _, kwargs in made] == ["validation", "dev"]
    assert loaded.dataset.to_list() == [
        {"id": "s1", "language": "fr_gsd", "words": ["de", "le"], "tags": ["ADP", "DET"]}
    ]
    assert loaded.dropped == {"multiword_range": 1}


def test_hub_masakhaner_reads_the_parquet_branch(calls):
    made, answers = calls
    answers.append(tagged("ner_tags", NER_NAMES))
    load_data("hub:masakhaner2", task="ner", split="dev", languages=["yor"])
    assert made[0][0] == ("parquet",)
    wanted = "hf://datasets/masakhane/masakhaner2@refs/convert/parquet/yor/validation/*.parquet"
    assert made[0][1] == {"data_files": {"data": wanted}, "split": "data"}


def test_hub_xlmt_is_found_under_the_names_of_languages(calls):
    made, answers = calls
    answers.append(datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [2, 0, 1]}))
    data = load_data("hub:xlmt", task="sentiment", languages=["de"])
    wanted = "hf://datasets/cardiffnlp/tweet_sentiment_multilingual@refs/convert/parquet/german/test/*.parquet"
    assert made == [(("parquet",), {"data_files": {"data": wanted}, "split": "data"})]
    assert (data["language"][0], data["label"][:]) == ("de", ["positive", "negative", "neutral"])


def test_hub_marc_has_stars_from_1(calls):
    made, answers = calls
    answers.append(datasets.Dataset.from_dict({"text": ["So\n\nbad", "good"], "label": [0, 4]}))
    data = load_data("hub:marc", task="marc", split="dev", languages=["de"])
    assert [args for args, _ in made] == [("mteb/AmazonReviewsClassification", "de")]
    assert (data["text"][:], data["label"][:]) == (["So\n\nbad", "good"], ["1", "5"])


def test_hub_sib200_and_conll2003(calls):
    made, answers = calls
    answers.append(datasets.Dataset.from_dict({"index_id": [5], "category": ["sports"], "text": ["Run."]}))
    answers.append(tagged("ner_tags", NER_NAMES))
    topic = load_data("hub:sib200", task="topic", split="dev", languages=["eng_Latn"])
    assert (topic["id"][0], topic["label"][0]) == ("5", "sports")
    assert load_data("hub:conll2003", task="ner")["language"][:] == ["en"]
    assert [args for args, _ in made] == [("Davlan/sib200", "eng_Latn"), ("lhoestq/conll2003", None)]


def test_hub_errors(calls):
    _, answers = calls
    with pytest.raises(DataError, match=r"expected a hub data set among panx, .*, but got 'conll'"):
        load_data("hub:conll")
    with pytest.raises(DataError, match="hub:wikiann has one configuration a language; say which"):
        load_data("hub:wikiann")
    answers += [ConnectionError("Couldn't reach the Hub\nmore"), ConnectionError("again")]
    with pytest.raises(
        DataError, match="hub:panx: google/xtreme dev de cannot be loaded from the hub: Couldn't reach the"
    ):
        load_data("hub:panx", split="dev", languages=["de"])
    answers.append(datasets.Dataset.from_dict({"words": [["a"]]}))
    with pytest.raises(DataError, match="expected the column 'tokens' in google/xtreme, but it has words"):
        load_data("hub:panx", languages=["de"])


def test_every_hub_entry_says_where_it_was_looked_up():
    for name, spec in hub.HUB.items():
        assert spec.repo in spec.looked_up or spec.repo == "google/xtreme", name
        assert {"words", "tags"} <= set(spec.columns) or {"text", "label"} <= set(spec.columns), name
        assert spec.config is not None or spec.data_files is not None or spec.default_language is not None, name


def test_the_scheme_of_tags_is_found_in_each_language_alone():
    """Together these would look like IOB2, and the first language's spans would be left ill-formed."""
    iob1 = [(["A", "b"], ["I-PER", "O"]), (["A", "B"], ["I-PER", "B-PER"])]
    iob2 = [(["X", "y", "Z"], ["B-LOC", "I-LOC", "B-LOC"])] * 50
    rows = [{"language": name, "words": words, "tags": tags} for name, items in (("aa", iob1), ("bb", iob2))
            for words, tags in items]  # fmt: skip
    loaded = load_source(rows, "ner")
    assert loaded.dataset["tags"][:3] == [["B-PER", "O"], ["B-PER", "B-PER"], ["B-LOC", "I-LOC", "B-LOC"]]
    assert [problem.message for problem in loaded.problems] == [
        "the given items, aa: tags are in IOB1; 2 of them were rewritten to make them IOB2"
    ]


def test_a_scheme_that_was_given_is_kept(tmp_path):
    (tmp_path / "x.tsv").write_text("Anna\tI-PER\nmet\tO\n\n", "utf-8")
    found = load_source(tmp_path / "x.tsv", "ner", format="columns", scheme="IOB2")
    assert found.dataset["tags"][0] == ["I-PER", "O"]


def test_sentiment_is_known_by_its_name():
    """A run's task is a copy where the labels are in another order."""
    from dataclasses import replace

    from dlfa_adapters.tasks import SENTIMENT

    other = replace(SENTIMENT, labels=tuple(reversed(SENTIMENT.labels)))
    rows = [("bad", "0"), ("so so", "1"), ("good", "2")]
    assert load_data(rows, task=other)["label"][:] == ["negative", "neutral", "positive"]
