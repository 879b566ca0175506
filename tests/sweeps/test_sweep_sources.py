"""Sweeps on several source languages: drawn and judged as in a training, side by side or one after another."""

from collections import Counter

import pytest
from finetuned_data import NER, OPTIONS, TARGETS, UNSEEN, still_folder

import dlfa_adapters.sweeps.finetuned as module
from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.sweeps.finetuned import finetuned_sweep
from dlfa_adapters.sweeps.finetuned.ranks import without_launcher
from dlfa_adapters.sweeps.prepare import Request, prepare_sweep
from dlfa_adapters.sweeps.show import sweep_notes
from dlfa_adapters.tuning import get_tuning

TRAIN = {"en": NER[:4], "de": [*NER, *UNSEEN]}
DEV = {"en": NER[:5], "de": UNSEEN}  # as many words, and not as many sentences


@pytest.fixture(scope="module")
def still(tiny_folder, tmp_path_factory):
    return still_folder(tiny_folder, tmp_path_factory.mktemp("still") / "encoder")


@pytest.fixture
def sweep(still, tmp_path):
    """sweep("full", ...): a sweep of `last`, D_2 and D_3 that is about to begin."""

    def prepared(tuning, **options):
        method = get_tuning(tuning)
        request = Request(
            task="ner", train_data=TRAIN, dev_data=DEV, target_data=TARGETS, model=still, layers=(2,), seeds=1
        )
        with without_launcher():
            settings = resolve(make_settings(**{**OPTIONS, "epochs": 6, **options}), method)
        return prepare_sweep(request, method, settings, tmp_path / "out")

    return prepared


@pytest.mark.parametrize("options", [{}, {"source_weights": "en=1,de=3"}, {"source_temperature": 5.0}])
def test_one_after_another_gives_the_rows_of_side_by_side(options, sweep, tmp_path, monkeypatch):
    prepared = sweep("full", **options)
    stacked = finetuned_sweep(prepared, tmp_path / "stacked", at_once=3)
    monkeypatch.setattr(module, "why_not_stackable", lambda model: "because")
    alone = finetuned_sweep(prepared, tmp_path / "alone")
    for one, other in zip(alone, stacked, strict=True):
        assert one.dev == pytest.approx(other.dev)
        assert (one.epoch, one.languages.keys()) == (other.epoch, other.languages.keys())
        for language, scores in one.languages.items():
            assert scores == pytest.approx(other.languages[language])
    assert len({score for row in stacked for score in row.dev}) > 3  # something was learnt, in some epochs more


@pytest.mark.parametrize("tuning", ["features", "full"])
def test_languages_are_drawn_as_asked(tuning, still, tmp_path, monkeypatch):
    seen, epoch = Counter(), Mixture.epoch

    def counted(self, number):
        rows = epoch(self, number)
        of = {row: language for language, rows in self.rows.items() for row in rows}
        seen.update(of[row] for row in rows)
        return rows

    monkeypatch.setattr(Mixture, "epoch", counted)
    weights = {"en": 9, "de": 1}
    done = run_sweep(
        "ner", train_data=TRAIN, dev_data=DEV, target_data=TARGETS, model=still, tuning=tuning, layers=[2], seeds=1,
        out=tmp_path / "sweep", plots=False, source_weights=weights, batch_size=4, epochs=20, head_learning_rate=1e-2,
        max_length=32, context=8,
    )  # fmt: skip
    assert seen["en"] > 4 * seen["de"] > 0
    sources = done.result.about["data"]["train"]["sources"]
    assert [(name, of["rows"], of["share"]) for name, of in sources.items()] == [("en", 4, 0.9), ("de", 12, 0.1)]
    assert done.result.about["settings"]["source_weights"] == "en=9,de=1"
    assert any("English, de dev chooses" in note for note in sweep_notes(done.result, done.table))


def test_dev_data_in_one_of_the_languages_are_said_to_be_that(still, tmp_path):
    done = run_sweep(
        "ner", train_data=TRAIN, dev_data={"en": DEV["en"]}, target_data=TARGETS, model=still, layers=[2], seeds=1,
        out=tmp_path / "sweep", plots=False, batch_size=4, epochs=1, head_learning_rate=1e-2, max_length=32, context=8,
    )  # fmt: skip
    assert any(note.startswith("English dev chooses") for note in sweep_notes(done.result, done.table))
    assert done.best.config["training"]["picked_on"] == "English dev, among 3 heads of a sweep"
    assert done.best.config["metrics"]["dev"].keys() == {"en"}


def test_the_language_of_a_folder_is_looked_at_before_the_encoder_is_loaded(still, tmp_path):
    """A folder without English data is no mistake where another language is named, and weights are for those named."""
    for language in ("de", "sw"):
        for split in ("train", "dev", "test"):
            path = tmp_path / "data" / f"{split}-{language}.tsv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("Anna\tB-PER\nkam\tO\n\nRom\tB-LOC\n", "utf-8")
    given = {
        "train_data": tmp_path / "data", "language": "de,sw", "model": still, "layers": [1], "seeds": 1, "epochs": 1,
        "head_learning_rate": 1e-2, "max_length": 32, "context": 8, "plots": False, "out": tmp_path / "sweep",
    }  # fmt: skip
    done = run_sweep("ner", source_weights="de=1,sw=3", **given)
    assert [of["share"] for of in done.result.about["data"]["train"]["sources"].values()] == [0.25, 0.75]
    best = done.best.config
    assert best["training"]["picked_on"] == "de, sw dev, among 3 heads of a sweep"
    assert best["metrics"]["dev"] == pytest.approx(done.result.best().dev_score, abs=1e-4)  # the mean of both
    with pytest.raises(ConfigError, match="has a weight for en, but the source languages are de, sw"):
        run_sweep("ner", source_weights="de=1,sw=3,en=1", **{**given, "model": "no such encoder"})
