"""Items that are translations of each other: found by ids and never by numbers, and drawn together."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dlfa_adapters.data.sources import load_source
from dlfa_adapters.predict.items import items_by_language
from dlfa_adapters.scores.compare import compare, compare_all
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.report import Report
from dlfa_adapters.scores.resample import resample_languages
from dlfa_adapters.scores.saved import REPORT, read_evaluation, read_report, save_evaluation
from dlfa_adapters.scores.show import comparison_notes, notes
from dlfa_adapters.scores.translations import EARLIER, find_translations
from dlfa_adapters.tasks import NER, PAWSX, POS, TOPIC, XNLI, classification_task
from tests.predict.fakes import FakeClassifier, FakeTagger, ask

TOPICS = TOPIC.labels


def topics(language, ids, labels=None):
    """Rows of a topic task with ids of their own."""
    labels = [TOPICS[int(i) % 7] for i in ids] if labels is None else labels
    return [
        {"language": language, "id": str(i), "text": f"{language} {i}", "label": label}
        for i, label in zip(ids, labels, strict=True)
    ]


def find(source, task, **options):
    return find_translations(items_by_language(load_source(source, task, **options))[0], task)


def by(source, task, **options):
    return find(source, task, **options).drawn.by


def test_sib200_by_index_id(tmp_path):
    rows = [("1523", TOPICS[0]), ("47", TOPICS[3]), ("300", TOPICS[1])]
    for language, order in (("deu_Latn", rows), ("swh_Latn", rows[::-1])):
        text = "".join(f"{i}\t{label}\t{language} {i}\n" for i, label in order)
        (tmp_path / language).mkdir()
        (tmp_path / language / "test.tsv").write_text("index_id\tcategory\ttext\n" + text)
    found = find(tmp_path, TOPIC)
    assert found.keys == {
        "deu_Latn": ["id 1523", "id 47", "id 300"],
        "swh_Latn": ["id 300", "id 47", "id 1523"],
    }
    assert (found.drawn.together, found.drawn.shared, found.drawn.alone) == (True, 3, 0)
    assert (
        found.drawn.sentence == "Languages are resampled together: items are translations of each other (by index_id)."
    )


def conllu(sent_ids):
    words = "1\tword\t_\tNOUN\t_\t_\t0\troot\t_\t_\n"
    return "".join(f"# sent_id = {name}\n{words}\n" if name else f"{words}\n" for name in sent_ids)


@pytest.mark.parametrize(
    ("of_de", "of_hi", "expected"),
    [
        (["n01001011", "w05010045"], ["w05010045", "n01001011"], "sent_id"),
        (["dev-s1", "dev-s2"], ["dev-s1", "dev-s2"], None),  # German-GSD and Chinese-GSD are no translations
        (["", ""], ["", ""], None),  # files of equal length are no evidence
        (["dev-s1", "n01001011"], ["n01001011", "dev-s1"], "sent_id"),
    ],
)
def test_treebanks_are_parallel_where_they_are_pud(of_de, of_hi, expected, tmp_path):
    (tmp_path / "de_pud-ud-test.conllu").write_text(conllu(of_de))
    (tmp_path / "hi_pud-ud-test.conllu").write_text(conllu(of_hi))
    found = find(tmp_path, POS)
    assert found.drawn.by == expected
    assert found.drawn.together == (expected is not None)
    assert found.drawn.alone == (0 if expected and "dev-s1" not in of_de else 2 if expected else 4)


@pytest.mark.parametrize("task", [XNLI, PAWSX])
def test_pairs_without_ids_by_their_place(task, tmp_path):
    labels = [task.labels[i % 2] for i in range(4)]
    for language in ("de", "en"):
        rows = [f"{language} {i}\tb\t{label}" for i, label in enumerate(labels)]
        (tmp_path / f"test-{language}.tsv").write_text("\n".join(rows) + "\n")
    assert by(tmp_path, task) == "place in the file"
    known = classification_task("mine", task.labels, pair=True)
    assert by(tmp_path, known) is None  # of a task that nobody declared parallel the place says nothing
    assert by(tmp_path, replace(known, parallel=True)) == "place in the file"


def test_the_place_counts_rows_that_are_left_out(tmp_path):
    """XNLI's `-` (no gold label) may stand in one language only; what follows keeps its place."""
    (tmp_path / "test-de.tsv").write_text("a\tb\tneutral\nc\td\t-\ne\tf\tentailment\n")
    (tmp_path / "test-en.tsv").write_text("a\tb\tneutral\nc\td\tneutral\ne\tf\tentailment\n")
    found = find(tmp_path, XNLI)
    assert found.keys["de"] == ["place 0", "place 2"]
    assert found.keys["en"] == ["place 0", None, "place 2"]
    assert "1 items without a partner are drawn by themselves" in found.drawn.sentence


def test_equal_ids_with_other_labels_are_no_translations():
    same = topics("de", range(20)) + topics("sw", range(20))
    other = topics("de", range(20)) + topics("sw", range(20), [TOPICS[(i + 1) % 7] for i in range(20)])
    assert by(same, TOPIC) == "index_id"
    assert by(other, TOPIC) is None
    assert "nothing tells" in find(other, TOPIC).drawn.sentence


def test_nine_of_ten_labels_must_be_the_same():
    for wrong, found in ((2, "index_id"), (3, None)):
        labels = [TOPICS[(i + (i < wrong)) % 7] for i in range(20)]
        assert by(topics("de", range(20)) + topics("sw", range(20), labels), TOPIC) == found


def test_any_ids_of_sentences_count_in_a_task_that_is_parallel():
    rows = [{"language": x, "id": f"s{i}", "words": ["w"], "tags": ["O"]} for x in ("de", "hi") for i in range(2)]
    assert by(rows, replace(NER, parallel=True)) == "sent_id"
    assert by(rows, NER) is None


def test_it_is_said_where_one_language_does_not_tell_what_its_ids_are():
    items, _ = items_by_language(load_source(topics("de", range(3)) + topics("sw", range(3)), TOPIC))
    told = find_translations([items[0], replace(items[1], own_ids=None)], TOPIC).drawn
    assert told.sentence.endswith("that equal ones are translations is assumed.")
    assert "assumed" not in find_translations(items, TOPIC).drawn.sentence


@pytest.mark.parametrize(("name", "task"), [("nli", XNLI), ("pawsx", PAWSX), ("ner", NER), ("pos", POS)])
def test_the_samples_are_no_translations(name, task):
    assert by(f"samples:{name}", task) is None


def test_a_single_language_has_no_translations():
    assert find(topics("de", range(3)), TOPIC) is None


def test_each_language_takes_its_own_of_the_ids_that_are_drawn():
    rows = topics("de", range(60)) + topics("sw", [*range(59, 29, -1), *range(100, 130)])
    found = find(rows, TOPIC)
    assert (found.drawn.shared, found.drawn.alone) == (30, 60)
    ids = {"de": np.arange(60), "sw": np.array([*range(59, 29, -1), *range(100, 130)])}
    shared = {x: ((i >= 30) & (i < 60)).astype(int) for x, i in ids.items()}
    counts = {x: np.stack([i * shared[x], i * (1 - shared[x]), shared[x], 1 - shared[x]], 1) for x, i in ids.items()}
    sums = {x: each.values for x, each in resample_languages(counts, found, 500, 0).items()}
    assert (sums["de"][:, 0] == sums["sw"][:, 0]).all()  # the same ids
    assert np.corrcoef(sums["de"][:, 1], sums["sw"][:, 1])[0, 1] < 0.15  # the others each for itself
    for each in sums.values():
        assert (each[:, 2:] == 30).all()  # as many as there are
    assert sums["de"][:, 0].std() == pytest.approx(np.sqrt(30) * np.arange(30, 60).std(), rel=0.1)


def test_items_of_one_language_with_one_id_are_drawn_together():
    found = find(topics("de", [0, 0, 1]) + topics("sw", [0, 1]), TOPIC)
    counts = {"de": np.ones((3, 1), int), "sw": np.eye(2, dtype=int)}
    sums = {x: each.values for x, each in resample_languages(counts, found, 50, 0).items()}
    assert (sums["de"][:, 0] == sums["sw"] @ [2, 1]).all()
    assert len(set(sums["de"][:, 0])) == 3


def test_without_translations_a_language_is_drawn_as_if_it_were_alone():
    counts = {x: np.random.default_rng(i).integers(0, 9, (40, 2)) for i, x in enumerate(("de", "sw"))}
    both = resample_languages(counts, None, 50, 3)
    alone = resample_languages({"sw": counts["sw"]}, None, 50, 3)
    assert (both["sw"].values == alone["sw"].values).all()


def right_on(ids):
    """A classifier that is right on these ids, in all languages."""
    return FakeClassifier(
        lambda text, _: TOPICS[(int(text.split()[1]) + (int(text.split()[1]) not in ids)) % 7], TOPICS
    )


PARALLEL = [row for language in ("de", "fr", "sw") for row in topics(language, range(100))]


def predictions(right, name="model", rows=PARALLEL):
    return ask(right_on(set(right)), rows, TOPIC, name=name)


def test_the_mean_of_equal_languages_is_no_surer_than_one_of_them():
    """What is right in one language is right in all: the mean is that of one language and so is its interval."""
    report = build_report(predictions(range(70)), resamples=2000)
    [one, *_], mean = report.table.languages, report.table.means[0]
    assert mean.scores["accuracy"].value == pytest.approx(one.scores["accuracy"].value)
    assert (mean.scores["accuracy"].low, mean.scores["accuracy"].high) == pytest.approx(
        (one.scores["accuracy"].low, one.scores["accuracy"].high)
    )
    unrelated = [{**row, "id": f"{row['language']}{row['id']}"} for row in PARALLEL]
    apart = build_report(predictions(range(70), rows=unrelated), resamples=2000).table.means[0].scores["accuracy"]
    width = mean.scores["accuracy"].high - mean.scores["accuracy"].low
    assert (apart.high - apart.low) == pytest.approx(width / 3**0.5, rel=0.15)


def test_it_is_said_and_comes_back():
    report = build_report(predictions(range(70)), resamples=50)
    assert "Languages are resampled together: items are translations of each other (by index_id)." in notes(report)
    values = json.loads(json.dumps(report.to_dict()))
    assert values["interval"]["languages"] == {
        "together": True, "by": "index_id", "shared": 100, "alone": 0, "sentence": report.drawn.sentence,
    }  # fmt: skip
    assert Report.from_dict(values) == report
    del values["interval"]["languages"]
    assert Report.from_dict(values).drawn == EARLIER


def test_compare_draws_translations_together():
    a, b = predictions(range(60), "a"), predictions(range(30, 97), "b")
    result = compare(a, b, resamples=2000)
    one, mean = result.languages[0].scores["accuracy"], result.means[0].scores["accuracy"]
    assert (mean.low, mean.high, mean.p_value) == pytest.approx((one.low, one.high, one.p_value))
    assert result.drawn.sentence in comparison_notes(result)
    assert result.to_dict()["interval"]["languages"]["by"] == "index_id"


def test_placeholder_pairs_are_left_out_of_both_tables_alike():
    rows = [
        {"language": x, "id": str(i), "text": "NS" if (x, i) == ("de", 3) else f"{x} {i}", "text_pair": "b",
         "label": str(i % 2), "placeholder": True}
        for x in ("de", "fr") for i in range(8)
    ]  # fmt: skip
    report = build_report(ask(FakeClassifier(lambda a, b: "1", PAWSX.labels), rows, PAWSX), resamples=20)
    assert (report.drawn.by, report.drawn.shared, report.drawn.alone) == ("id", 8, 0)
    assert [row.items for row in report.without_placeholders.languages] == [7, 8]


def saved(folder, found):
    return save_evaluation(folder, found, build_report(found, resamples=50))


def older(folder):
    """The same evaluation as versions before wrote it."""
    whole = json.loads((folder / REPORT).read_text())
    del whole["interval"]["languages"], whole["task"]["parallel"]
    for told in whole["files"].values():
        del told["own_ids"]
        told.pop("ids", None)
    (folder / REPORT).write_text(json.dumps(whole))
    return folder


def test_a_saved_evaluation_keeps_the_ids_of_texts(tmp_path):
    folder = saved(tmp_path / "one", predictions(range(70)))
    again = read_evaluation(folder)
    assert find_translations(again.languages, again.task) == find(PARALLEL, TOPIC)
    assert read_report(folder).drawn.by == "index_id"
    told = find_translations(read_evaluation(older(folder)).languages, TOPIC).drawn
    assert told.by == "index_id"
    assert told.sentence.endswith("that equal ones are translations is assumed.")
    assert read_report(folder).drawn == EARLIER


def test_a_saved_evaluation_keeps_the_ids_of_sentences(tmp_path):
    rows = [
        {"language": x, "id": f"n0100{i}011", "words": ["w"], "tags": ["NOUN"]} for x in ("de", "hi") for i in range(3)
    ]
    found = ask(FakeTagger(lambda words: ["NOUN"], POS.labels), rows, POS)
    folder = saved(tmp_path / "one", found)
    assert (folder / "predictions" / "de.ids").read_text() == "n01000011\nn01001011\nn01002011\n"
    assert saved(folder, found) == folder  # the file of ids is the evaluation's own, and is replaced with it
    again = read_evaluation(folder)
    assert [each.ids for each in again.languages] == [each.ids for each in found.languages]
    assert find_translations(again.languages, POS).drawn.by == "sent_id"
    told = find_translations(read_evaluation(older(folder)).languages, POS).drawn
    assert not told.together
    assert "saved without the ids of its sentences, so it is assumed that none are translations" in told.sentence
    for models in ((read_evaluation(folder), found), (found, read_evaluation(folder))):  # one that knows them is enough
        assert compare(*models, resamples=20).drawn.by == "sent_id"


def test_ids_that_cannot_stand_on_a_line_are_not_written(tmp_path):
    rows = [{"language": x, "id": "a\nb", "words": ["w"], "tags": ["O"]} for x in ("de", "hi")]
    folder = saved(tmp_path / "one", ask(FakeTagger(lambda words: ["O"]), rows, NER))
    assert [each.own_ids for each in read_evaluation(folder).languages] == [False, False]


def test_numbers_of_sentences_are_not_written(tmp_path):
    rows = [{"language": x, "words": ["w"], "tags": ["O"]} for x in ("de", "hi") for _ in range(3)]
    folder = saved(tmp_path / "one", ask(FakeTagger(lambda words: ["O"]), rows, NER))
    assert sorted(path.name for path in (folder / "predictions").iterdir()) == ["de.tsv", "hi.tsv"]
    told = find_translations(read_evaluation(folder).languages, NER).drawn
    assert told.sentence.startswith("Languages are resampled one by one: nothing tells that items are translations")


def test_a_task_of_ones_own_stays_parallel_when_it_is_saved(tmp_path):
    task = replace(classification_task("mine", ("x", "y")), parallel=True)
    rows = [{"language": x, "text": f"{x} {i}", "label": "xy"[i % 2]} for x in ("de", "hi") for i in range(4)]
    found = ask(FakeClassifier(lambda a, b: "x", task.labels), rows, task)
    assert read_evaluation(saved(tmp_path / "one", found)).task.parallel


def test_several_models_against_one():
    models = [predictions(right, name) for name, right in (("a", range(60)), ("b", range(8, 70)), ("c", range(75)))]
    to_b, to_c = compare_all(models, resamples=1000)
    assert (to_b.a, to_b.b, to_c.b, to_c.models) == ("a", "b", "c", 2)
    for result, model in ((to_b, models[1]), (to_c, models[2])):
        alone, among = (x.means[0].scores["accuracy"] for x in (compare(models[0], model), result))
        assert (among.low, among.high, among.p_value) == (alone.low, alone.high, alone.p_value)
        assert alone.adjusted_p is None
        assert among.simultaneous_low < among.low < among.high < among.simultaneous_high
        assert among.adjusted_p >= among.p_value or among.adjusted_p < 0.01
    told = " ".join(comparison_notes(to_b))
    assert "adjusted p (max-T) is for the languages and models of a table and the 2 models of each mean at once" in told
