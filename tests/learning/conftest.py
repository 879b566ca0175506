"""Small trainings on a tiny random encoder."""

import pytest
import torch

NER = [
    (["Anna", "met", "Bob", "in", "Rome", "."], ["B-PER", "O", "B-PER", "O", "B-LOC", "O"]),
    (["Rome"], ["B-LOC"]),
    (["New", "York", "is", "far"], ["B-LOC", "I-LOC", "O", "O"]),
    (["the", "Bank", "of", "Rome", "met", "Anna"], ["O", "B-ORG", "I-ORG", "I-ORG", "O", "B-PER"]),
    (["Bob", "and", "Anna", "met"], ["B-PER", "O", "B-PER", "O"]),
    (["in", "York"], ["O", "B-LOC"]),
    (["Acme", "met", "Bob"], ["B-ORG", "O", "B-PER"]),
    (["a", "b", "c", "d", "e", "f", "g", "h"], ["O"] * 8),
]
POS = [(words, ["PROPN" if word[0].isupper() else "NOUN" for word in words]) for words, _ in NER]
TEXTS = [" ".join(words) for words, _ in NER]
XNLI = [
    (text, pair, ("entailment", "neutral", "contradiction")[i % 3])
    for i, (text, pair) in enumerate(zip(TEXTS, reversed(TEXTS), strict=True))
]
MOOD = [(text, ("glad", "sad")[i % 2]) for i, text in enumerate(TEXTS)]
DATA = {"ner": NER, "pos": POS, "xnli": XNLI, "mood": MOOD}


@pytest.fixture(scope="session")
def items():
    """Eight sentences or texts by task; `mood` is no task that is known by name."""
    return DATA


@pytest.fixture(scope="session")
def language_adapter(tiny_folder, tmp_path_factory):
    """The folder of a language adapter `en` for the tiny encoder, with random weights and an invertible part."""
    from dlfa_adapters.encoders import load_encoder

    folder = tmp_path_factory.mktemp("adapters") / "en"
    model = load_encoder(str(tiny_folder)).model
    torch.manual_seed(3)
    model.add_adapter("en", config="seq_bn_inv")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "adapters" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_adapter(str(folder), "en")
    return folder


@pytest.fixture(scope="session")
def start(tiny_folder):
    """start("ner", out, "lora", ...): a training of two steps; the run, and what was trained."""
    from dlfa_adapters.learning import train

    def run(task, out, tuning="full", **options):
        kept, data = {}, DATA.get(task, [])
        defaults = {
            "train_data": data, "dev_data": data[:4], "language": "en", "model": str(tiny_folder),
            "batch_size": 4, "epochs": 1, "learning_rate": 1e-2, "on_start": lambda plan: kept.update(plan=plan),
        }  # fmt: skip
        return train(task, tuning=tuning, out=out, **{**defaults, **options}), kept.get("plan")

    return run


@pytest.fixture(scope="session")
def logits():
    """logits(model, tokenizer): what a model computes for three texts in one batch."""

    def compute(model, tokenizer):
        encoded = tokenizer(["Anna met Bob in Rome.", "far", "the Bank of York"], padding=True, return_tensors="pt")
        with torch.no_grad():
            return model.eval()(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits

    return compute
