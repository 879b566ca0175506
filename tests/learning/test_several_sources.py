"""Training on data in several source languages: a file for each, or a folder with all."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from scipy.stats import chisquare
from sklearn.metrics import f1_score

from dlfa_adapters import load_run
from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.kinds import metrics_for
from dlfa_adapters.learning import resume_training
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.learning.dataset import describe_data, load_dev, load_split
from dlfa_adapters.learning.frozen.judge import Judge
from dlfa_adapters.learning.settings import make_settings
from dlfa_adapters.learning.sources import mixture_of
from dlfa_adapters.tasks import NER
from tests.learning.killed import Killed, killed_at

LANGUAGES = ["en", "de"]


@pytest.fixture
def folder(items, tmp_path):
    """Files train-en.tsv, dev-en.tsv, train-de.tsv, dev-de.tsv; the German ones with other sentences."""
    path = tmp_path / "data"
    path.mkdir()
    for language in LANGUAGES:
        for split, rows in (("train", items["ner"]), ("dev", items["ner"][:3])):
            sentences = [
                [(word + "x" * (language == "de"), tag) for word, tag in zip(*row, strict=True)] for row in rows
            ]
            text = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in sentences)
            (path / f"{split}-{language}.tsv").write_text(text + "\n", "utf-8")
    return path


def by_language(folder, split):
    return {language: str(folder / f"{split}-{language}.tsv") for language in LANGUAGES}


def test_files_by_language_are_the_folder_with_these_languages(folder):
    joined = load_split(by_language(folder, "train"), "ner", "train", None)
    read = load_split(folder, "ner", "train", "en, de")
    assert joined.dataset["language"] == read.dataset["language"] == ["en"] * 8 + ["de"] * 8
    assert joined.dataset["words"] == read.dataset["words"]
    assert (joined.kind, joined.own_ids) == (read.kind, read.own_ids)
    described = describe_data(joined, by_language(folder, "train"))
    assert described["source"] == by_language(folder, "train")
    assert (described["language"], described["items"]) == (LANGUAGES, 16)
    assert described["fingerprint"] == describe_data(read, folder)["fingerprint"]


def test_dev_data_are_of_the_same_languages(folder):
    files = by_language(folder, "train")
    assert load_dev(None, files, "ner", None) is None  # single files have no dev split
    for dev in (folder, by_language(folder, "dev")):
        assert load_dev(dev, files, "ner", None).dataset["language"] == ["en"] * 3 + ["de"] * 3
    folders = dict.fromkeys(LANGUAGES, folder)
    assert load_dev(None, folders, "ner", None).dataset["language"] == ["en"] * 3 + ["de"] * 3


def test_a_training_on_two_languages(start, folder, tmp_path):
    data = {"train_data": by_language(folder, "train"), "dev_data": by_language(folder, "dev"), "language": None}
    run, plan = start("ner", tmp_path / "run", "full", fuse_layer=2, **data)
    assert run.config["data"]["train"]["language"] == LANGUAGES
    assert run.config["data"]["train"]["source"] == data["train_data"]
    assert run.config["training"]["picked_on"] == "English, de dev"
    [line] = [line for line in plan.lines() if line.startswith("Data: ")]
    assert f"train-en.tsv, {folder / 'train-de.tsv'} (en, de, 16 items)" in line
    assert (
        "Sources: en 8 items, 50 %; de 8 items, 50 % of the rows that are drawn; an epoch has as many as en alone"
        in plan.lines()
    )
    described = {"items": 8, "rows": 8, "share": 0.5}
    assert run.config["data"]["train"]["sources"] == {"en": described, "de": described}
    assert run.config["training"]["steps"] == 2  # those of the 8 English sentences, in batches of 4
    one, _ = start("ner", tmp_path / "one", "full", fuse_layer=2, train_data=folder, dev_data=folder, language="en,de")
    assert {name: sha for name, sha in one.config["files"].items() if name.endswith(".safetensors")} == {
        name: sha for name, sha in run.config["files"].items() if name.endswith(".safetensors")
    }


def test_it_can_be_resumed_from_what_is_written_down(start, folder, tmp_path):
    def die(number):
        raise Killed

    data = {"train_data": by_language(folder, "train"), "dev_data": by_language(folder, "dev"), "language": None}
    with pytest.raises(Killed):
        start("ner", tmp_path / "run", "full", fuse_layer=2, on_epoch=die, **data)
    told = json.loads((tmp_path / "run.training" / "training.json").read_text("utf-8"))
    assert told["request"]["train_data"] == data["train_data"]
    assert resume_training(tmp_path / "run").config["data"]["train"]["items"] == 16


def test_what_cannot_be(start, folder, items, tmp_path):
    with pytest.raises(ConfigError, match="The sources have their languages, en, de; leave --language out"):
        start("ner", tmp_path / "run", train_data=by_language(folder, "train"), language="en")
    with pytest.raises(DataError, match="expected one language for a file that names none itself, but got en, de"):
        load_split(folder / "train-en.tsv", "ner", "train", "en,de")
    texts = tmp_path / "texts-de.tsv"
    texts.write_text("text\tlabel\nGut.\tgood\n", "utf-8")
    with pytest.raises(DataError, match=r"train-en.tsv is tagging data, .*texts-de.tsv is classification data"):
        load_split({"en": folder / "train-en.tsv", "de": texts}, "names", "train", None)
    with pytest.raises(DataError, match="no source is named"):
        load_split({}, "ner", "train", None)
    with pytest.raises(RunError, match="was trained on Python objects"):
        start_and_resume(start, {"en": items["ner"], "de": str(folder / "train-de.tsv")}, tmp_path / "items")


def start_and_resume(start, source, out):
    def die(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start("ner", out, "full", fuse_layer=2, train_data=source, dev_data="none", language=None, on_epoch=die)
    resume_training(out)


@pytest.mark.parametrize("tuning", ["full", "features"])
def test_dev_is_scored_by_language_and_their_mean_picks_the_epoch(tuning, start, folder, tmp_path):
    """Against each language alone, with the run's own predictions."""
    data = {"train_data": folder, "dev_data": by_language(folder, "dev"), "language": "en,de"}
    if tuning == "full":
        data["dev_data"] = folder
    else:
        data |= {"train_data": by_language(folder, "train"), "language": None}
    run, _ = start("ner", tmp_path / "run", tuning, fuse_layer=2, epochs=3, learning_rate=1e-2, **data)
    metrics, training = run.config["metrics"], run.config["training"]
    tagger = load_run(run.folder)
    for language in LANGUAGES:
        dev = load_source(folder / f"dev-{language}.tsv", "ner", "dev").dataset
        predicted = tagger.predict(dev["words"])
        [main, *_] = metrics_for(NER)
        score = main.compute(predictions=predicted, references=dev["tags"])["span_f1_lenient"] or 0.0
        assert metrics["dev"][language] == pytest.approx(100 * score, abs=1e-3)
        gold, guessed = ([tag for tags in side for tag in tags] for side in (dev["tags"], predicted))
        macro = f1_score(gold, guessed, average="macro", zero_division=0)
        assert metrics["macro_f1"][language] == pytest.approx(100 * macro, abs=1e-3)
    kept = max(training["dev_scores"])
    assert kept == pytest.approx(sum(metrics["dev"].values()) / 2, abs=1e-3)
    assert len(training["dev_scores"]) == 3


def test_heads_on_states_are_judged_by_the_mean_over_languages():
    """Where languages have unequally many items, a mean over languages is no score of all items together."""

    class OfItems(Judge):
        def counts(self, stacks, losses=None):
            return torch.tensor([[[1, 1], [0, 1], [0, 1], [1, 1]]])  # right, items

        def score(self, counts):
            return 100 * counts[..., 0] / counts[..., 1]

    judge = OfItems(
        SimpleNamespace(items_by_language=lambda: {"en": [0, 1, 2], "de": [3]}, states=SimpleNamespace(device="cpu"))
    )
    scores, _ = judge.judge([SimpleNamespace(members=[0])])
    assert scores == [pytest.approx((100 / 3 + 100) / 2)]


def drawn(start, folder, out, tuning, **options):
    """How often each language is in the batches of a training, and the run."""
    seen, epochs = Counter(), set()
    epoch = Mixture.epoch

    def counted(self, number):
        rows = epoch(self, number)
        epochs.add(number)
        of = {row: language for language, rows in self.rows.items() for row in rows}
        seen.update(of[row] for row in rows)
        return rows

    data = {"train_data": by_language(folder, "train"), "dev_data": folder, "language": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mixture, "epoch", counted)
        run, _ = start("ner", out, tuning, **{"fuse_layer": 2, **data, **options})
    assert epochs == set(range(len(epochs)))  # each has rows of its own
    assert len(epochs) > 1
    return seen, run


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({"source_weights": {"de": 1, "en": 4}}, [0.8, 0.2]),
        ({}, [900 / 1000, 100 / 1000]),
        ({"source_temperature": 2.0}, [30 / 40, 10 / 40]),  # square roots
    ],
)
def test_options_say_how_often_a_language_is_drawn(options, shares):
    """Chi-square over thirty epochs."""
    languages = ["en"] * 900 + ["de"] * 100
    train = SimpleNamespace(rows_by_language=lambda: {"en": range(900), "de": range(900, 1000)})
    mixed = mixture_of(train, LANGUAGES, make_settings(**options).steps)
    seen = Counter(languages[row] for epoch in range(30) for row in mixed.epoch(epoch))
    counts = [seen[language] for language in LANGUAGES]
    assert sum(counts) == 30 * 900  # as many as there are English rows
    assert chisquare(counts, [sum(counts) * share for share in shares]).pvalue > 0.01


@pytest.mark.parametrize("tuning", ["full", "lora", "features", "bilstm"])
def test_every_way_of_training_draws_by_weight(tuning, start, folder, tmp_path):
    options = {"classifier": "bilstm", "lstm_hidden": 4} if tuning == "bilstm" else {}
    method = "features" if tuning == "bilstm" else tuning
    settings = {"epochs": 20, "source_weights": {"de": 1, "en": 19}, **options}
    seen, run = drawn(start, folder, tmp_path / "run", method, **settings)
    assert seen["en"] > 8 * seen["de"] > 0
    assert [of["share"] for of in run.config["data"]["train"]["sources"].values()] == [0.95, 0.05]
    assert run.config["training"]["source_weights"] == "de=1,en=19"


def test_the_rows_that_trainer_gets_are_those_of_the_mixture(start, folder, tmp_path):
    """The German sentences have words with x at the end, so a batch tells what it is made of."""
    shares = {}
    for weights in ("en=1,de=1000000", "en=1000000,de=1"):
        data = {"train_data": by_language(folder, "train"), "dev_data": "none", "language": None}
        shares[weights] = start("ner", tmp_path / weights, "full", fuse_layer=2, source_weights=weights, **data)[0]
    german, english = (run.config["files"] for run in shares.values())
    alone, _ = start("ner", tmp_path / "de", "full", fuse_layer=2, train_data=folder, dev_data="none", language="de")
    assert german["encoder/model.safetensors"] != english["encoder/model.safetensors"]
    assert alone.config["training"]["steps"] == shares["en=1,de=1000000"].config["training"]["steps"]


@pytest.mark.parametrize("tuning", ["full", "features"])
def test_a_mixture_goes_on_exactly_where_it_was_cut(tuning, start, folder, tmp_path):
    data = {"train_data": by_language(folder, "train"), "dev_data": folder, "language": None}
    options = {"epochs": 4, "batch_size": 4, "source_temperature": 5.0, "fuse_layer": 2, **data}
    if tuning == "full":
        options["every"] = 3
    through, _ = start("ner", tmp_path / "through", tuning, **options)
    with pytest.raises(Killed):
        start("ner", tmp_path / "cut", tuning, **options, progress=killed_at(5))
    cut = resume_training(tmp_path / "cut")
    for name, sha in through.config["files"].items():
        if name.endswith(".safetensors"):
            assert cut.config["files"][name] == sha, name
    assert cut.config["training"]["dev_scores"] == through.config["training"]["dev_scores"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source_weights": "en=1"}, "no weight for de; give one, e.g. de=1"),
        ({"source_weights": "en=1,de=2,fr=1"}, "has a weight for fr, but the source languages are en, de"),
        ({"source_weights": "en=1,de=0"}, "numbers above 0 by language, such as en=3,de=1; got de=0"),
        ({"source_weights": "en=1,de"}, "numbers above 0 by language, .* got de="),
        ({"source_weights": "en=1,en=2"}, "names en twice"),
        ({"source_weights": ""}, "numbers above 0 by language, .* got ="),
        ({"source_weights": {}}, "must be weights by language, such as en=3,de=1"),
        ({"source_weights": {"en": 1, "de": float("nan")}}, "numbers above 0"),
        ({"source_weights": "en=1,de=1", "source_temperature": 2.0}, "both say how often a source is drawn; give one"),
        ({"source_temperature": 0.0}, "source_temperature must be a number above 0"),
        ({"language": "en", "source_temperature": 2.0}, "needs several source languages; name them"),
        ({"train_data": {"en": "a", "eng": "b"}}, "train_data names one language twice, as en and eng; name it once"),
        (
            {"dev_data": {"en": "a", "de": "b", "deu_Latn": "c"}},
            "dev_data names one language twice, as de and deu_Latn",
        ),
        (
            {"train_data": "FOREIGN", "language": None},
            "for en, but there are files for fr; the source is en unless you",
        ),
        ({"train_data": "FOREIGN", "language": "de"}, r"expected a train file for de, but there are files for fr$"),
        ({"language": "en,fr"}, "expected a train file for fr, but there are files for de, en"),
        ({"train_data": "samples:ner", "language": "en,xx"}, "train data for en, but not for xx"),
    ],
)
def test_what_is_refused_before_anything_is_loaded(options, message, folder, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "train-fr.tsv").write_text("a\tO\n", "utf-8")
    options = {name: str(foreign) if value == "FOREIGN" else value for name, value in options.items()}
    given = {"train_data": str(folder), "language": "en,de", **options}
    with pytest.raises((ConfigError, DataError), match=message):
        check_options("ner", **given)
