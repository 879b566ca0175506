"""Peak memory of training: full, freeze:6, lora and features, on an encoder of mBERT's shape with random weights.

    python benchmarks/memory.py --device cuda --out memory-gpu.json
    python benchmarks/memory.py --batch 4x64 --vocabulary 20000 --steps 1
    python benchmarks/memory.py --count --steps 2 --out memory-counted.json

Every tuning is one call of `dlfa_adapters.learning.train` in a process of its own, ended after the last step, before
the run is written: 12 blocks of width 768, 119,547 pieces, sentences of exactly the length, a DLFA head for NER, bf16
on a GPU as by default there. On a GPU it is the memory that PyTorch held at most (`max_memory_reserved`, what others
cannot have) and the part of it that tensors took; without one the resident memory of the process, and how much of it
came after the imports. Targets on a GPU, batch 32x128: lora at most 4 GB, features at most 1.5 GB.

`--count` adds up the tensors that are alive instead, on a processor, in bf16: what a GPU would hold, but for its own
kernels, the allocator's gaps, and the dropout of attention, which is left out because a processor keeps its mask.
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

TUNINGS = ("full", "freeze:6", "lora", "features")
GB = 1e9


class Alive(TorchDispatchMode):
    """Bytes of all tensors that operations have made and nobody has dropped.

    Attributes:
        now: How many there are.
        peak: How many there were at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now, self.peak, self.known = 0, 0, set[int]()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._add(tensor.untyped_storage())
        return result

    def _add(self, storage: Any) -> None:
        place, size = storage._cdata, storage.nbytes()
        if place not in self.known:
            self.known.add(place)
            self.now += size
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._drop, place, size)

    def _drop(self, place: int, size: int) -> None:
        self.known.discard(place)
        self.now -= size


class Measured(Exception):
    """The last step is done."""


def make_encoder(folder: Path, args: argparse.Namespace) -> None:
    """A random encoder without a pooler, and a tokenizer that makes one piece of each of a thousand words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [f"w{i}" for i in range(1000)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*special, *words])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    attention = {"attention_probs_dropout_prob": 0.0} if args.count else {}
    config = BertConfig(vocab_size=args.vocabulary, num_hidden_layers=args.layers, **attention)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)


def train_once(folder: Path, tuning: str, args: argparse.Namespace) -> dict[str, float]:
    """Train some steps, and say how much memory that took."""
    from dlfa_adapters.learning import train

    rows, length = map(int, args.batch.split("x"))
    words = [f"w{i}" for i in range(length - 2)]
    items = [(words, ["B-PER"] + ["O"] * (length - 3))] * (rows * args.steps)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    left, alive = args.steps, Alive()

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal left
        if stage.startswith("Loading"):  # which holds the weights twice, but not on a GPU
            alive.peak = 0
        left -= done if stage == "Training" else 0
        if left <= 0 and tuning != "features":  # what comes after the last step is writing gigabytes
            raise Measured

    counting = alive if args.count else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Measured), counting:
        train(
            "ner",
            train_data=items,
            language="en",
            model=str(folder),
            tuning=tuning,
            out=Path(place) / "run",
            batch_size=rows,
            max_length=length,
            epochs=1,
            precision="bf16" if args.count else None,
            progress=progress,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in units of 1024 bytes
    found = {"resident": 1024 * peak / GB, "after the imports": 1024 * (peak - before) / GB}
    if args.count:
        found |= {"counted": alive.peak / GB}
    if torch.cuda.is_available():
        found |= {"held": torch.cuda.max_memory_reserved() / GB, "tensors": torch.cuda.max_memory_allocated() / GB}
    return found


def main() -> None:
    """Train with every tuning in a process of its own, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--count", action="store_true", help="add up tensors instead, on a processor")
    parser.add_argument("--batch", default="32x128", help="batch x length")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=119547)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--tunings", default=",".join(TUNINGS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(train_once(Path(args.child[0]), args.child[1], args)))
        return
    from measuring import finish, machine

    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        make_encoder(Path(folder), args)
        for tuning in args.tunings.split(","):
            command = [sys.executable, __file__, *sys.argv[1:], "--child", folder, tuning]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[tuning] = json.loads(done.stdout.splitlines()[-1])
            print(tuning, found[tuning], flush=True)
    columns = ("held", "tensors") if args.device == "cuda" else ("resident", "after the imports")
    columns = ("counted",) if args.count else columns
    rows = [[tuning, *(f"{values[column]:.2f}" for column in columns)] for tuning, values in found.items()]
    told = {"benchmark": f"Peak memory of training, batch {args.batch}", "machine": machine(args.device)}
    header = ["tuning", *(f"{column}, GB" for column in columns)]
    finish({**told, "header": header, "rows": rows, "arguments": vars(args), "peaks": found}, args.out)


if __name__ == "__main__":
    main()
