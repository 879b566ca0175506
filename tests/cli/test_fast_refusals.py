"""A mistake that can be known without a model is told before PyTorch is loaded: every command, every kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlfa_adapters.data.places import check_encoder_name
from dlfa_adapters.fusion import CLASSIFIERS
from dlfa_adapters.fusion.aif import BRANCHES
from dlfa_adapters.fusion.norm import NORMS
from dlfa_adapters.fusion.readout import POOLINGS
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.language import RECORD
from dlfa_adapters.learning.checks import LANGUAGE_RECORD
from dlfa_adapters.learning.ranges import REPORT_TO
from dlfa_adapters.tasks.head_options import HeadOptions

TESTS = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "adapters", "datasets", "huggingface_hub", "peft", "sklearn", "scipy")

ALL = """
import contextlib, io, json, sys
from dlfa_cli import main
for line in sys.stdin:
    number, words = json.loads(line)
    sys.argv = ["dlfa", *words]
    said, code = io.StringIO(), None
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main.main()
        except SystemExit as end:
            code = end.code
    print(json.dumps([number, code, said.getvalue(), [m for m in HEAVY if m in sys.modules]]))
"""

TRAIN = "train mine --train good.tsv "
CASES = [  # what is typed, and what is said
    ("train", "Give a task, or --resume"),
    ("train mine", "There are no samples of 'mine'; name training data with --train"),
    ("train ner --epochs 0", "epochs must be a whole number from 1 up, got 0"),
    ("train ner --lr 0", "learning_rate must be a number above 0"),
    ("train ner --batch-size 0", "batch_size must be"),
    ("train mine --train none.tsv", "none.tsv: expected a file or a folder, but there is none"),
    ("train ner --adapt none", "none: expected a file or a folder, but there is none"),
    ("train ner --adapt-option steps=2", "--adapt-option is for --adapt DATA"),
    ("train ner --adapt good.tsv --adapt-option stepps=2", "did you mean 'steps'?"),
    ("train ner --adapt good.tsv --adapt-option steps", "--adapt-option expects NAME=VALUE, got 'steps'"),
    ("train ner --adapt good.tsv --tuning stack:x", "is of the encoder before --adapt, which changes it"),
    ("adapt samples:ner --languages de", "samples:ner has train data for en, but not for de"),
    ("adapt en=good.tsv en=good.tsv", "e.g. en=train-en.tsv de=train-de.tsv"),
    ("adapt en=good.tsv eng=good.tsv", "DATA names one language twice, as en and eng"),
    ("train mine --train en=good.tsv --train eng=good.tsv", "--train names one language twice, as en and eng"),
    ("sweep mine --train en=good.tsv --train en-US=good.tsv", "--train names one language twice, as en and en-US"),
    ("analyze means --text en=good.tsv --text eng=good.tsv", "--text names one language twice, as en and eng"),
    ("analyze translate --parallel en-eng=good.tsv", "--parallel names one language twice, as en and eng"),
    ("train mine --train en=good.tsv --train en=good.tsv", "e.g. --train en=train-en.tsv --train de=train-de.tsv"),
    ("train ner --train samples:ner --language ,en --lr 0", "learning_rate must be"),
    ("analyze probing RUN -t parse", "no samples of 'parse'; name training data with --task parse=PLACE,"),
    ("analyze language-id encoder --data folder", "it looks like an encoder, which an analysis takes with --model"),
    ("adapt none.txt", "none.txt: expected a file or a folder, but there is none"),
    ("adapt good.tsv --learns bottleneck", "learns must be full, freeze:N, lora"),
    ("adapt --resume none", "There is no training of none to resume"),
    ("analyze pseudo-perplexity", "Name a masked language model, an adapted encoder or a run"),
    ("analyze pseudo-perplexity x --text de=none.txt", "none.txt: expected a file or a folder"),
    (TRAIN + "--dev none.tsv", "none.tsv: expected a file or a folder, but there is none"),
    ("train ner --train samples:x", "expected samples:ner"),
    ("train ner --train hub:x", "expected a hub data set among"),
    (TRAIN + "--format x", "expected a format among"),
    ("train ner --tuning lorra", "There is no tuning 'lorra'; there are full, freeze"),
    ("train ner --tuning lora:x", "takes a rank from 1 up"),
    ("train ner --tuning freeze", "needs the number of blocks"),
    ("train ner --tuning stack", "needs the adapter of the source language"),
    ("train ner --tuning bottleneck:x", "takes one of seq_bn"),
    ("train ner --fusion x", "fusion must be one of dlfa, last"),
    ("train ner --gate x", "gate must be one of product, attention; got 'x'"),
    ("train ner --branches x", "branches must be one of both"),
    ("train ner --norm x", "norm must be one of batch"),
    ("train ner --init x", "init must be one of kaiming"),
    ("train ner --first-sentences 2", "--first-sentences cuts documents, and ner is for words; leave it out"),
    ("train mldoc --train good.tsv --first-sentences 0", "first_sentences must be a whole number from 1 up, got 0"),
    ("train ner --pooling x", "pooling must be one of first"),
    ("train ner --classifier x", "classifier must be one of linear"),
    ("train ner --precision x", "precision must be one of fp32"),
    ("train ner --report-to x", "report_to must be one of none"),
    ("train ner --labels x", "labels must be task or data"),
    ("train ner --fuse-layer x", "expected layer numbers, or auto alone"),
    ("train ner -k auto --parallel none.tsv", "none.tsv: expected a file"),
    ("train ner --model ./none", "The encoder './none' cannot be loaded (there is no such folder)"),
    ("train ner --out taken", "taken exists and is not a run folder"),
    ("train ner --out busy", "come into PLACE/busy.training, which is not a folder that this library made"),
    ("train ner --language en,xx", "samples:ner has train data for en, but not for xx"),
    ("train ner --language en,de --source-weights en=1", "--source-weights has no weight for de"),
    ("train mine --train en=good.tsv --train de=good.tsv --source-weights en=1,de=x", "numbers above 0 by language"),
    ("train ner --source-temperature 5", "--source-temperature needs several source languages"),
    ("train ner --tuning full --source-temperature 0", "source_temperature must be a number above 0"),
    ("train --resume none", "There is no training of none to resume"),
    ("train ner --resume none --epochs 3", "leave out --epochs"),
    ("tune mine", "There are no samples of 'mine'"),
    ("tune ner --epochs 0", "epochs must be"),
    ("tune ner --train none.tsv", "none.tsv: expected a file"),
    ("tune ner --sampler x", "sampler must be one of grid, tpe"),
    ("tune ner --tuning x", "There is no tuning 'x'"),
    ("tune ner --out taken", "taken exists"),
    ("sweep mine", "There are no samples of 'mine'"),
    ("sweep ner --epochs 0", "epochs must be"),
    ("sweep ner --train none.tsv", "none.tsv: expected a file"),
    ("sweep ner --data none", "none: expected a file or a folder"),
    ("sweep ner --split x", "expected the split train, dev or test"),
    ("sweep ner --data folder --languages xx", "expected a test file for xx, but there are files for de, en"),
    ("sweep ner --layers x", "expected layers such as 4-9"),
    ("sweep ner --with x", "expected gates, branches"),
    ("sweep ner --seeds 0", "expected at least one seed"),
    ("sweep ner --state-budget x", "expected a size such as 20GB"),
    ("sweep ner --tuning x", "There is no tuning 'x'"),
    ("sweep ner --gate x", "gate must be one of"),
    ("sweep ner --out taken", "taken exists and is not a sweep"),
    ("train-language", "Give a language and its text"),
    ("train-language sw", "Give a language and its text"),
    ("train-language sw --text none.txt", "none.txt: expected a file"),
    ("train-language sw --text good.tsv --steps 0", "steps must be a whole number from 1 up"),
    ("train-language sw --text good.tsv --config x", "config must be one of seq_bn_inv"),
    ("train-language sw --text good.tsv --reduction 0", "reduction must be a number above 0"),
    ("train-language sw --text good.tsv --format x", "expected a format among"),
    ("train-language sw --text good.tsv --out taken", "taken exists"),
    ("train-language sw --text good.tsv --out busy", "come into PLACE/busy.training, which is not a folder that"),
    (
        "train-language --resume none --steps 5",
        "--resume goes on with the options of the beginning; leave out --steps.",
    ),
    ("train-language --resume none", "There is no training of none to resume"),
    ("predict none hello", "There is no run folder none"),
    ("predict taken hello", "taken is not a run folder"),
    ("predict RUN --file none.txt", "none.txt"),
    ("predict RUN hello --file good.tsv", "Give texts or --file, not both"),
    ("predict RUN hello --language xx", "'xx' is none of ISO 639; where none is right, leave it out or type und."),
    (
        "predict RUN hello --language klingon",
        "expected the code of a language, such as de, zh-Hant or fra_Latn, got",
    ),
    ("predict RUN hello --precision x", "precision must be one of fp32, bf16"),
    ("predict RUN hello --language-adapter sw=none", "takes one folder"),
    ("predict RUN hello --language-adapter none", "not over a language adapter"),
    ("predict PAIRS hello", "expected a pair: two texts with a TAB between them"),
    ("evaluate none --data samples:ner", "There is no run folder none"),
    ("evaluate RUN", "Missing option '--data'"),
    ("evaluate RUN --data none.tsv", "none.tsv: expected a file"),
    ("evaluate RUN --data samples:x", "expected samples:ner"),
    ("evaluate RUN --data samples:ner --split x", "expected the split"),
    ("evaluate RUN --data good.tsv --format x", "expected a format among"),
    ("evaluate RUN --data samples:ner --languages de,xx", "has test data for ar, de, el,"),
    ("evaluate RUN --data samples:ner --languages de,xx", "but not for xx"),
    ("evaluate RUN --data folder -l xx,de", "folder: expected a test file for xx, but there are files for de, en"),
    ("evaluate RUN --data folder --split dev -l de", "expected files of the split 'dev', but there are only test"),
    ("evaluate RUN --data samples:ner --precision x", "precision must be one of"),
    ("evaluate RUN --data samples:ner --language-adapter x", "expects LANGUAGE=FOLDER"),
    ("evaluate RUN --data samples:ner --language-adapter de=x", "not over a language adapter"),
    ("evaluate RUN --data samples:ner --out taken", "taken exists"),
    ("evaluate RUN --data samples:ner --markdown taken", "taken is a folder"),
    ("compare none none", "There is no run folder none"),
    ("compare RUN RUN", "add --data"),
    ("compare RUN none --data samples:ner", "There is no run folder none"),
    ("compare RUN RUN --data none.tsv", "none.tsv: expected a file"),
    ("compare RUN RUN --data samples:ner --split x", "expected the split"),
    ("compare RUN RUN --data folder -l xx", "folder: expected a test file for xx, but there are files for de, en"),
    ("convert none out", "There is no run folder none"),
    ("convert RUN taken", "taken exists and is not an empty folder"),
    ("export none x.onnx", "There is no run folder none"),
    ("export RUN x", "must be called something.onnx"),
    ("export RUN x.onnx --language-adapter none", "not over a language adapter"),
    ("report none", "none"),
    ("demo --model ./none", "The encoder './none' cannot be loaded"),
    ("demo --out taken", "taken exists"),
    ("analyze cosine RUN", "Sentences and their translations are needed"),
    ("analyze cosine --parallel pairs.tsv", "Name what is to be looked at"),
    ("analyze cosine RUN --parallel none.tsv", "none.tsv"),
    ("analyze cosine none --parallel pairs.tsv", "There is no run folder none"),
    ("analyze cosine RUN --parallel pairs.tsv --plot x", "--plot expects a file that ends in"),
    ("analyze cosine --model ./none --parallel pairs.tsv", "The encoder './none' cannot be loaded"),
    ("analyze language-id --model offline", "Text by language is needed; add --data FOLDER"),
    ("analyze language-id --data folder", "Name what is to be looked at"),
    ("analyze language-id none --data folder", "There is no run folder none"),
    ("analyze language-id --model ./none --data folder", "The encoder './none' cannot be loaded"),
    ("analyze language-id --model offline --data none", "none: expected a file or a folder"),
    ("analyze language-id --model offline --data good.tsv", "good.tsv: expected a folder of text by language"),
    ("analyze language-id --model offline --data taken", "expected files of text by language"),
    ("analyze language-id --model offline --data folder -l xx", "folder: expected text in xx"),
    ("analyze language-id --model offline --data folder -l de", "got de alone"),
    ("analyze language-id --model offline --data folder --pooling x", "pooling must be one of mean, sum"),
    ("analyze language-id --model offline --data folder --lr x", "expected a rate or several"),
    ("analyze language-id --model offline --data folder --plot x", "--plot expects a file that ends in"),
    ("analyze overlap ner", "Missing option '--train'"),
    ("analyze overlap ner --train none.tsv --data folder", "none.tsv: expected a file"),
    ("analyze overlap ner --train good.tsv --data none", "none: expected a file or a folder"),
    ("analyze overlap ner --train good.tsv --data folder -l xx", "folder: expected a test file for xx"),
    ("analyze overlap ner --train good.tsv --data folder --format x", "expected a format among"),
    ("analyze overlap ner --train good.tsv --data folder --scores none.csv", "none.csv: expected a file"),
    ("analyze overlap ner --train good.tsv --data folder --model ./none", "The encoder './none' cannot be loaded"),
    ("analyze overlap ner --train good.tsv --data folder --plot x.svg", "add --scores"),
    ("analyze head-updates none", "There is no run folder none; for an encoder name the one"),
    ("analyze head-updates RUN --weights x", "weights must be of query, key, value, output; got 'x'"),
    ("analyze head-updates RUN --before ./none", "The encoder './none' cannot be loaded"),
    ("analyze head-updates RUN --plot x", "--plot expects a file that ends in"),
    ("analyze head-probing ner", "Name what is to be looked at"),
    ("analyze head-probing ner none", "There is no run folder none"),
    ("analyze head-probing ner RUN --train none.tsv", "none.tsv: expected a file"),
    ("analyze head-probing ner RUN --with none.json", "none.json: expected a file"),
    ("analyze head-probing ner RUN --score x", "score must be one of macro-f1, metric"),
    ("analyze probing RUN", "Name what is probed for"),
    ("analyze probing none -t ner", "There is no run folder none; for an encoder name the one"),
    ("analyze probing RUN -t ner=none.tsv", "none.tsv: expected a file"),
    ("analyze probing RUN -t ner -d pos=good.tsv", "--data is for pos, but the tasks are ner"),
    ("compare RUN PAIRS --data good.tsv", "RUN is for tagging and PAIRS for classification; give runs of one"),
    ("analyze probing RUN RUN -t ner", "is named twice; name each model once"),
    ("analyze probing RUN -t ner --languages de", "--languages is for test data; name some with --data TASK=PLACE"),
    ("analyze head-probing ner RUN RUN", "is named twice"),
    ("analyze head-probing ner RUN --languages de", "--languages is for test data; name some with --data"),
    ("analyze head-probing ner RUN --by-language", "--by-language is for test data; name some with --data"),
    ("analyze head-updates RUN RUN", "is named twice"),
    ("analyze pseudo-perplexity x ./x --text folder", "x is named twice"),
    ("analyze translate --parallel de-de=pairs.tsv", "expected two languages, got de twice"),
    ("data check none.tsv", "none.tsv"),
    ("data check good.tsv --format x", "expected a format among"),
    ("recipes cp none", "there is no recipe 'none'"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """For each case: exit code, what is on stderr, and which heavy packages are loaded. All in one process."""
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "good.tsv").write_text("Anna\tB-PER\nmet\tO\n\nBob\tB-PER\n\n", "utf-8")
    (folder / "pairs.tsv").write_text("a\tb\nc\td\n", "utf-8")
    (folder / "folder").mkdir()
    for language in ("de", "en"):
        (folder / "folder" / f"test-{language}.tsv").write_text("Anna\tB-PER\nmet\tO\n\n", "utf-8")
    for name in ("taken", "busy.training"):
        (folder / name).mkdir()
        (folder / name / "mine.txt").write_text("precious", "utf-8")
    (folder / "encoder").mkdir()
    (folder / "encoder" / "model.safetensors").write_bytes(b"")
    write_run_of(folder / "RUN", "ner", "tagging", ["O", "B-PER", "I-PER"])
    write_run_of(folder / "PAIRS", "xnli", "classification", ["entailment", "neutral", "contradiction"])
    lines = "".join(json.dumps([i, words.split(" ")]) + "\n" for i, (words, _) in enumerate(CASES))
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {HEAVY}\n{ALL}"],
        input=lines, capture_output=True, text=True, cwd=folder, timeout=300,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent), "COLUMNS": "300"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("taken", "busy.training"):
        assert (folder / name / "mine.txt").read_text("utf-8") == "precious"
    told = map(json.loads, done.stdout.replace(str(folder), "PLACE").splitlines())
    return {number: rest for number, *rest in told}


def write_run_of(folder, task, kind, labels):
    """A run folder that is whole but for its weights, which nothing looks at here."""
    from dlfa_adapters.runs import write_run

    def head(draft):
        (draft / "head").mkdir()
        saved = json.loads((TESTS / "heads" / "saved" / "format-1" / "head_config.json").read_text("utf-8"))
        ids = {label: number for number, label in enumerate(labels)}
        saved["config"] |= {"inner_head_type": kind, "num_labels": len(labels), "label2id": ids}
        (draft / "head" / "head_config.json").write_text(json.dumps(saved), "utf-8")

    write_run(
        folder,
        {
            "task": task, "labels": labels, "encoder": {"name": "offline", "fingerprint": "0"}, "tuning": "features",
            "head": {"name": task}, "windows": {"max_length": 128, "context": 64}, "model": {"saved": "head"},
        },
        head,
    )  # fmt: skip


@pytest.mark.parametrize(("number", "typed", "message"), [(i, *case) for i, case in enumerate(CASES)])
def test_without_pytorch(number, typed, message, told):
    code, said, heavy = told[number]
    assert message in " ".join(said.split())
    assert code == 2
    assert heavy == []


def test_the_words_are_those_of_what_takes_them():
    head = HeadOptions.known()
    assert tuple(BRANCHES) == head["branches"].choices
    assert tuple(NORMS) == head["norm"].choices
    assert head["pooling"].choices == POOLINGS
    assert head["classifier"].choices == CLASSIFIERS
    assert LANGUAGE_RECORD == RECORD


def test_the_places_for_curves_are_those_of_transformers():
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    assert set(REPORT_TO) == {"none", *INTEGRATION_TO_CALLBACK}


@pytest.mark.parametrize("name", ["gate", "init"])
def test_words_of_modules_that_keep_no_list(name):
    from dlfa_adapters.fusion import DLFA

    words = HeadOptions.known()[name].choices
    for word in words:
        DLFA(8, **{name: word})
    with pytest.raises(ValueError, match=f"{name} must be one of {', '.join(words)}; got 'x'"):
        DLFA(8, **{name: "x"})


@pytest.mark.parametrize(("record", "what"), [("run.json", "a run"), ("language.json", "a language adapter")])
def test_a_folder_that_is_no_encoder(record, what, tmp_path):
    (tmp_path / record).write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match=f"is {what} and no encoder; name "):
        check_encoder_name(str(tmp_path))


def test_names_on_the_hub_are_no_paths():
    for name in ("bert-base-multilingual-cased", "FacebookAI/xlm-roberta-base", "offline"):
        check_encoder_name(name)
    for path in ("", "./mine", "/mine", "~/mine", "deep/er/mine", "C:\\mine"):
        with pytest.raises(ConfigError, match="there is no such folder"):
            check_encoder_name(path)
