"""Tagging many languages: `dlfa evaluate`'s way against the settings of Transformers' token-classification example.

    python benchmarks/evaluation.py download/panx --limit 50
    python benchmarks/evaluation.py download/panx --device cuda --bf16 --out evaluation-gpu.json

The folder has `<language>/dev.tsv` (word, tab, tag). Three sides take the same words through the same model, from words
in memory to a tag for every word, language by language in turn:

- ours: windows, batches of similar length under a budget of tokens;
- the example: `Trainer.predict` in batches of 8 in the order of the file, padded to the longest of the batch;
- the example with `--pad_to_max_length`: padded to 128.

The encoder is the offline one, the head has random weights: what it says does not matter, that all sides say the same
does. The example cuts off what is longer than 128 pieces; sentences that it read whole are compared. It would read a
word at a bare "▁" where that is the first piece; here it reads the piece after it, as ours does. Targets: 1.5 times the
example's throughput, 3 times that of padding to 128, the same tags.
"""

import argparse
import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import finish, machine, ratio
from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments
from transformers.utils import logging

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.encoders import load_offline_encoder
from dlfa_adapters.kinds.tagging.tagger import Tagger
from dlfa_adapters.predict.forms import cast
from dlfa_adapters.tasks import NER

Sentences = list[list[str]]
Tags = list[list[str | None]]


def build() -> tuple[Any, Any]:
    """The offline encoder with a DLFA head whose scores are far enough apart not to be rounded into one another."""
    model, tokenizer = load_offline_encoder()
    torch.manual_seed(0)
    model.add_dlfa_head("ner", fuse_layer=8)
    for layer in model.heads["ner"].inner:
        if isinstance(layer, torch.nn.Linear):
            torch.nn.init.normal_(layer.weight, std=1.0)
    return model.eval(), tokenizer


def example(model: Any, tokenizer: Any, pad_to: int | None) -> Callable[[Sentences], Tags]:
    """What `run_ner.py` does to predict: tokenize, `Trainer.predict`, take the first piece of each word."""
    folder = tempfile.mkdtemp()
    gpu = model.device.type == "cuda"
    args = TrainingArguments(folder, per_device_eval_batch_size=8, report_to="none", disable_tqdm=True, use_cpu=not gpu)
    args.remove_unused_columns = False
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer = Trainer(model, args, data_collator=collator)
    padding = "max_length" if pad_to else False
    bare = tokenizer.convert_tokens_to_ids("▁")

    def predict(sentences: Sentences) -> Tags:
        encoded = tokenizer(sentences, is_split_into_words=True, truncation=True, max_length=128, padding=padding)
        starts = [_first_pieces(encoded.word_ids(i), encoded["input_ids"][i], bare) for i in range(len(sentences))]
        rows = [{name: encoded[name][i] for name in ("input_ids", "attention_mask")} for i in range(len(sentences))]
        for row, firsts in zip(rows, starts, strict=True):
            row["labels"] = [0 if i in firsts else -100 for i in range(len(row["input_ids"]))]
        best = trainer.predict(rows).predictions.argmax(-1)
        tags: Tags = [[None] * len(words) for words in sentences]
        for i, firsts in enumerate(starts):
            for piece, word in firsts.items():
                tags[i][word] = NER.labels[best[i, piece]]
        return tags

    return predict


def _first_pieces(word_ids: list[int | None], ids: list[int], bare: int) -> dict[int, int]:
    """Place of the first piece of each word that is more than a bare mark of its beginning, and the word."""
    first = {}
    for i, word in reversed(list(enumerate(word_ids))):
        if word is not None and (ids[i] != bare or word not in first):
            first[word] = i
    return {place: word for word, place in first.items()}


def agreement(ours: Tags, theirs: Tags) -> tuple[int, int, int, int]:
    """Words of sentences that both read whole, how many are tagged differently; words of the others, without a tag."""
    pairs = list(zip(ours, theirs, strict=True))
    whole = [(a, b) for one, other in pairs if None not in other for a, b in zip(one, other, strict=True)]
    cut = [tags for _, tags in pairs if None in tags]
    return len(whole), sum(a != b for a, b in whole), sum(map(len, cut)), sum(tags.count(None) for tags in cut)


def main() -> None:
    """Time the sides on every language, compare what they say, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--languages", type=int, default=20, help="the first so many")
    parser.add_argument("--limit", type=int, help="sentences a language")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--bf16", action="store_true", help="a fourth side: ours with the encoder in bf16")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    logging.set_verbosity_error()
    torch.set_num_threads(1 if args.device == "cpu" else torch.get_num_threads())

    folders = sorted(path.parent for path in args.data.glob("*/dev.tsv"))[: args.languages]
    data = {f.name: [item.words for item in read_file(f / "dev.tsv").items[: args.limit]] for f in folders}
    model, tokenizer = build()
    model.to(args.device)
    sides: dict[str, Callable[[Sentences], Any]] = {
        "ours": Tagger(model, tokenizer, NER.labels).predict,
        "example": example(model, tokenizer, None),
        "example, padded to 128": example(model, tokenizer, 128),
    }
    seconds: dict[str, list[float]] = {}
    said: dict[str, list[Tags]] = {}
    if args.bf16:
        half = copy.deepcopy(model)
        cast(half, torch.bfloat16)
        sides["ours, bf16"] = Tagger(half, tokenizer, NER.labels).predict
    time_sides(sides, data, args.device, seconds, said)

    sentences = sum(map(len, data.values()))
    rows = []
    for name, times in seconds.items():
        counts = [agreement(a, b) for a, b in zip(said["ours"], said[name], strict=True)]
        whole, differ, cut, missing = (sum(column) for column in zip(*counts, strict=True))
        speeds = [f"{sum(times):.1f}", f"{sentences / sum(times):.0f}", f"{sum(times) / sum(seconds['ours']):.2f}"]
        rows.append([name, *speeds, f"{differ} of {whole}", f"{missing} of {cut}"])
    header = ["side", "s", "sentences / s", "ours is faster by", "tags that differ", "untagged in cut sentences"]
    told = {"benchmark": f"Tagging {len(data)} languages, {sentences} sentences", "machine": machine(args.device)}
    by_language = {name: ratio(times, seconds["ours"]) for name, times in seconds.items()}
    rest = {"arguments": vars(args), "seconds": seconds, "languages": list(data), "ratios by language": by_language}
    finish({**told, "header": header, "rows": rows, **rest}, args.out)


def time_sides(
    sides: dict[str, Callable[[Sentences], Any]],
    data: dict[str, Sentences],
    device: str,
    seconds: dict[str, list[float]],
    said: dict[str, list[Tags]],
) -> None:
    """Let every side tag every language; on the CPU processor time counts, on a GPU the wall clock."""
    now = time.process_time if device == "cpu" else time.perf_counter
    names = list(sides)
    for side in sides.values():
        side(next(iter(data.values()))[:16])  # the first call is not counted
    for number, sentences in enumerate(data.values()):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = now()
            tags = sides[name](sentences)
            seconds.setdefault(name, []).append(now() - start)
            said.setdefault(name, []).append(tags)


if __name__ == "__main__":
    main()
