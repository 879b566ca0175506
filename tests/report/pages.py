"""Runs, evaluations and sweeps to make pages of: nothing is trained, every score is known."""

import json

from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.runs import write_run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.saved import default_folder, save_evaluation
from dlfa_adapters.tasks import NER
from tests.predict.fakes import FakeClassifier, FakeTagger, ask, oracle, tagged

SENTENCES = {
    "en": ["Anna/B-PER Lee/I-PER met/O Bob/B-PER ./O", "Rome/B-LOC is/O old/O", "It/O rains/O"],
    "ar": ["سافرت/O ليلى/B-PER حداد/I-PER إلى/O القاهرة/B-LOC ./O", "Google/B-ORG في/O دبي/B-LOC ومكتبها/O الجديد/O"],
    "he": ["דנה/B-PER לוי/I-PER נסעה/O לחיפה/B-LOC ./O"],
    "zh": ["李/B-PER 明/I-PER 在/O 上/B-LOC 海/I-LOC 用/O i/O P/O h/O o/O n/O e/O 。/O"],
    "hi": ["मीरा/B-PER जोशी/I-PER जयपुर/B-LOC से/O लंदन/B-LOC गईं/O ।/O"],
}
HOSTILE = "<script>window.hacked=1</script>"


def rows(sentences=SENTENCES):
    return [row for language, given in sentences.items() for row in tagged(language, *given)]


def make_run(folder, **config):
    """A run folder that was not trained."""
    whole = {"task": "ner", "labels": list(NER.labels), "encoder": {"name": "offline", "fingerprint": "1"}, "seed": 3,
             "data": {"train": {"source": "samples:ner", "language": "en", "sha256": "c0ffee"}}, **config}  # fmt: skip
    return write_run(folder, whole, lambda draft: (draft / "weights").write_text("none", "utf-8"))


def predict(data=None, task=NER, first=2, answer=None):
    """Gold tags for the first words of each sentence, `O` behind them; for texts what `answer` says."""
    data = rows() if data is None else data
    if task.kind == "tagging":
        return ask(FakeTagger(answer or oracle(data, first), task.labels), data, task)
    return ask(FakeClassifier(answer, task.labels), data, task)


def evaluate(run, predictions=None, source="samples:ner", folder=None):
    """Save an evaluation of a run, beside it if no folder is given."""
    predictions = predictions or predict()
    predictions.about["run"] = {"folder": str(run.folder), "sha256": sha256_of(run.folder / "run.json"),
                                "encoder": "offline", "head": {"fusion": "dlfa", "fuse_layer": [8]}}  # fmt: skip
    predictions.about["data"] |= {"source": source}
    report = build_report(predictions, resamples=50)
    return save_evaluation(folder or default_folder(run.folder, source, "test"), predictions, report)


def sweep(folder, layers=4, languages=("en", "de", "sw"), **changes):
    """The file of a sweep: D_k has 10 k points in every language, less for the later ones."""

    def estimate(value):
        return {"value": value, "low": value - 4, "high": value + 4}

    def difference(value):
        return {"a": 0.0, "b": value, "difference": value, "low": value - 2, "high": value + 2, "p_value": 0.04}

    groups = {
        "targets": {"name": "targets", "title": "targets (without en)", "languages": list(languages[1:])},
        "all": {"name": "all", "title": "all (with en)", "languages": list(languages)},
    }
    lines = []
    for k in range(layers + 1):
        name, value = f"D_{k}" if k else "last", 10.0 * k + 5
        against = {other: difference(value) for other in ("last", f"D_{layers}") if other != name}
        lines.append(
            {
                "name": name, "seeds": 3, "epoch": 2.3, "dev": value, "dev_spread": 1.5,
                "means": {group: estimate(value) for group in groups},
                "spread": {group: 0.7 for group in groups},
                "languages": {language: estimate(value - i) for i, language in enumerate(languages)},
                "against": {group: against for group in groups},
            }
        )  # fmt: skip
    table = {"title": "span F1 (lenient)", "groups": groups, "compared": ["last", f"D_{layers}"],
             "resamples": 1000, "seed": 0, "lines": lines}  # fmt: skip
    whole = {"format": 1, "task": {"name": "ner"}, "encoder": {"name": "offline"}, "tuning": "features",
             "sources": ["en"], "best": {"name": "D_3", "seed": 0}, "table": table, "heads": [], **changes}  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sweep.json").write_text(json.dumps(whole), "utf-8")
    return folder
