"""One loaded model for many threads, as in a server: every answer is the one that comes without threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from transformers import pipeline

from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run

THREADS, CALLS = 8, 12
TAGGED = [(["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]), (["far"], ["O"])] * 2
PAIRS = [("Anna met Bob", "far", "neutral"), ("in Rome", "New York is far", "entailment")] * 2
DATA = {"ner": TAGGED, "xnli": PAIRS}
SENTENCES = [["Anna", "met", "Bob"], [], ["New", "York"] * 30, ["", "\u200b", "</s>"], ["Rome"]]
TEXTS = ["Anna met Bob", "", "far " * 60, "in [SEP] Rome"]


@pytest.fixture(autouse=True)
def _often_another_thread():
    """After 10 microseconds instead of 5 milliseconds, so that few calls find what many would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module", params=["ner full", "ner lora", "xnli full", "xnli lora"])
def run(request, tiny_folder, tmp_path_factory):
    task, tuning = request.param.split()
    return train(
        task, train_data=DATA[task], language="en", model=str(tiny_folder), tuning=tuning, epochs=1, batch_size=4,
        learning_rate=1e-1, max_length=32, out=tmp_path_factory.mktemp("threads") / "run",
    )  # fmt: skip


def equal_from_threads(call, variants):
    """Whether what many threads are told is what one was told before them."""
    want = [call(variant) for variant in variants]
    chosen = [i % len(variants) for i in range(THREADS * CALLS)]
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(lambda i: call(variants[i]), chosen))
    return found == [want[i] for i in chosen]


def test_a_loaded_run(run):
    model = load_run(run)
    if run.config["task"] == "ner":
        assert equal_from_threads(model.predict, [SENTENCES, SENTENCES[::-1], SENTENCES[:1]])
    else:
        pairs = [(TEXTS, TEXTS[::-1]), (TEXTS[:1], TEXTS[2:3]), (TEXTS[::-1], TEXTS)]
        assert equal_from_threads(lambda pair: model.predict(*pair), pairs)
        assert equal_from_threads(lambda pair: model.probabilities(*pair).tolist(), pairs)


def test_a_tokenizer_that_its_file_lets_cut_and_pad(run):
    model = load_run(run)
    backend = model.tokenizer.backend_tokenizer
    backend.enable_truncation(max_length=3)
    backend.enable_padding(length=9)
    before = backend.to_str()
    plain = load_run(run)
    inputs = (SENTENCES,) if run.config["task"] == "ner" else (TEXTS, TEXTS[::-1])
    assert model.predict(*inputs) == plain.predict(*inputs)
    assert equal_from_threads(lambda given: model.predict(*given), [inputs])
    assert backend.to_str() == before


def test_a_pipeline_of_transformers(run):
    if run.config["task"] == "ner":
        tag = pipeline("token-classification", model=str(run.folder), aggregation_strategy="simple")
        assert equal_from_threads(tag, ["Anna met Bob in Rome", "", "New York " * 30, "Rome </s>"])
    else:
        label = pipeline("text-classification", model=str(run.folder))
        assert equal_from_threads(
            label, [{"text": "Anna", "text_pair": "met"}, {"text": "far", "text_pair": "New York"}]
        )
