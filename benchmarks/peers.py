"""What the sweep's benchmarks share: a corpus, an encoder, and the peer: one training by Transformers' Trainer."""

import argparse
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import BertConfig, PrinterCallback, Trainer, TrainerCallback, TrainingArguments

import dlfa_adapters  # noqa: F401  (lets AutoAdapterModel build models with add_dlfa_head)
from dlfa_adapters.data.batching import SameLengthSampler, piece_labels
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.kinds.encoded import Row, collate_rows
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.models import DLFAForTokenClassification
from dlfa_adapters.tasks import NER

_PIECES = 20_000  # distinct pieces of the synthetic corpus; 20,000 sentences of English PAN-X have 18,773


@dataclass
class Corpus:
    """Tagged sentences in windows.

    Attributes:
        name: For the table.
        words: Sentences.
        tags: A tag for each word.
        windows: What the encoder sees.
        padding: What batches are padded with.
    """

    name: str
    words: list[list[str]]
    tags: list[list[str]]
    windows: list[Window]
    padding: int

    def rows(self) -> list[Row]:
        """The windows as Trainer batches them."""
        ids = [[NER.labels.index(tag) for tag in tags] for tags in self.tags]
        return [Row(w.input_ids, None, piece_labels(w, ids[w.sentence])) for w in self.windows]

    def first(self, sentences: int) -> "Corpus":
        """The beginning of it."""
        windows = [window for window in self.windows if window.sentence < sentences]
        return Corpus(self.name, self.words[:sentences], self.tags[:sentences], windows, self.padding)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that both benchmarks have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a tagged file (word, tab, tag); default: synthetic sentences")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--random", metavar="LxE", help="random weights of this shape instead of the offline encoder")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], help="default: bf16 on a GPU")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--out", type=Path)
    return parser


def encoder_and_corpus(args: argparse.Namespace) -> tuple[Any, Corpus]:
    """The encoder on the CPU, as a model of adapters, and the corpus."""
    from adapters import AutoAdapterModel

    tokenizer = None
    if args.random:
        layers, width = map(int, args.random.split("x"))
        config = BertConfig(
            vocab_size=250_037, hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers,
            num_attention_heads=max(1, width // 32), pad_token_id=1,
        )  # fmt: skip
        torch.manual_seed(0)
        model = AutoAdapterModel.from_config(config).eval()
    else:
        from dlfa_adapters.encoders import load_offline_encoder

        model, tokenizer = load_offline_encoder()
    if args.data is None:
        return model, synthetic(args.sentences, padding=1)
    if tokenizer is None:
        raise SystemExit("--data needs the tokenizer of the offline encoder; leave --random out.")
    from dlfa_adapters.data.readers import read_file

    items = read_file(args.data).items[: args.sentences]
    words, tags = [item.words for item in items], [item.tags for item in items]
    windows, _ = make_windows(tokenizer, words)
    return model, Corpus(args.data.name, words, tags, windows, tokenizer.pad_token_id)


def synthetic(sentences: int, padding: int) -> Corpus:
    """Sentences as long as those of English PAN-X (8 words, 14 pieces on average); pieces have Zipf's frequencies."""
    rng = random.Random(0)
    pieces = rng.sample(range(5, 250_000), _PIECES)
    weights = list(accumulate(1 / rank for rank in range(1, _PIECES + 1)))
    words, tags, windows = [], [], []
    for sentence in range(sentences):
        count = min(60, max(1, round(rng.lognormvariate(math.log(6.6), 0.62))))
        sizes = [1 + (rng.random() < 0.5) for _ in range(count)]
        ids = [0, *rng.choices(pieces, cum_weights=weights, k=sum(sizes)), 2]
        starts = list(accumulate(sizes, initial=1))
        windows.append(Window(sentence, ids, tuple(range(count)), tuple(pairwise(starts))))
        words.append(["w"] * count)
        tags.append([rng.choice(NER.labels) for _ in range(count)])
    return Corpus("synthetic", words, tags, windows, padding)


def trainer_seconds(
    model: Any, spec: HeadSpec, corpus: Corpus, args: argparse.Namespace, *, steps: int, warmup: int, frozen: bool
) -> tuple[float, float]:
    """Seconds a step of Transformers' Trainer with its own defaults on the plain Transformers model with this head.

    Its batches are those of the sweep: the same rows, of like length, in the same order.

    Args:
        model: The encoder, which is copied.
        spec: The head.
        corpus: Training data.
        args: From `arguments`.
        steps: Steps to time.
        warmup: Steps before them.
        frozen: Whether the encoder is frozen; its parameters then ask for no gradient.

    Returns:
        Seconds a step, and the most GPU memory in GB.
    """
    plain = DLFAForTokenClassification.from_encoder(
        model,
        spec.head.layers or None,
        id2label=NER.id2label,
        fusion=spec.head.fusion,
        gate=spec.head.fusion_options.gate,
    )
    plain.encoder.requires_grad_(not frozen)
    clock = Clock(args.device, warmup, steps)
    if args.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder,
            per_device_train_batch_size=args.batch_size,
            max_steps=warmup + steps,
            learning_rate=2e-5,
            warmup_ratio=0.1,
            weight_decay=0.01,
            bf16=precision(args) == "bf16",
            use_cpu=args.device == "cpu",
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
        )
        collate = partial(collate_rows, pad_token_id=corpus.padding)
        trainer = _SameOrder(plain, options, collate, corpus.rows(), callbacks=[_Tick(clock)])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return clock.seconds() / steps, peak(args.device)


def precision(args: argparse.Namespace) -> str:
    """bf16 on a GPU, fp32 elsewhere, unless something else was asked for."""
    return str(args.precision or ("bf16" if args.device == "cuda" else "fp32"))


def peak(device: str) -> float:
    """The most memory that PyTorch has held on the GPU, in GB; 0 without one."""
    return torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else 0.0


class Clock:
    """Time from the end of the warm-up on: processor time on a CPU, which neighbours disturb least.

    Args:
        device: `cpu` or `cuda`.
        warmup: Ticks before the time counts.
        steps: Ticks that are timed; 0: the time goes on.
    """

    def __init__(self, device: str, warmup: int = 0, steps: int = 0) -> None:
        self.device, self.warmup, self.last, self.ticks = device, warmup, warmup + steps, 0
        self.start, self.stop = self._now(), 0.0

    def tick(self) -> None:
        """A step is over."""
        self.ticks += 1
        if self.ticks == self.warmup:
            self.start = self._now()
        if self.ticks == self.last:
            self.stop = self._now()

    def seconds(self) -> float:
        """From the warm-up to the last step, or until now."""
        return (self.stop or self._now()) - self.start

    def _now(self) -> float:
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


class _Tick(TrainerCallback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self.clock.tick()


class _SameOrder(Trainer):
    """Trainer with the sweep's order of batches."""

    def __init__(self, model: Any, args: Any, collator: Any, rows: Sequence[Row], **options: Any) -> None:
        super().__init__(model, args, collator, train_dataset=rows, **options)

    def _get_train_sampler(self, train_dataset: Any = None) -> SameLengthSampler:
        lengths = [len(row.input_ids) for row in self.train_dataset]
        return SameLengthSampler(lengths, self.args.train_batch_size, 0)
