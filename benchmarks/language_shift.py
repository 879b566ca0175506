"""Languages shifted towards the source, and centred before training: what either brings a model that learned English.

    python benchmarks/language_shift.py ner pos --panx PANX --udpos UDPOS --out language-shift.jsonl
    python benchmarks/language_shift.py xnli --taxinli TAXINLI --xnli XNLI --out language-shift.jsonl
    python benchmarks/language_shift.py --table language-shift.jsonl

NER and POS: DLFA heads at `--fuse-layers` of the frozen encoder, each trained twice, on states as they are and on
centred ones (`dlfa train --center`). Every head has a rate of its own, which English dev chooses with the first seed
among `--rates`. Heads that read states as they are then read each language shifted at each of `--shift-layers` by each
of `--alphas` (Liu et al. 2020, arXiv 2004.09205).

XNLI: training pairs of TaxiNLI, `--tuning` (default: the paper's, the first six blocks frozen) without fusion, shifted
at each of `--nli-layers` by `dlfa evaluate --shift`, and the same training centred. Wants a GPU, or a small
`--limit-train`.

Alpha is picked for each language by itself, once by its score on labelled sentences of that language, as in the paper,
and once by the cosine of its mean with that of English, which needs no labels. What is scored, what alpha is picked on
by labels, and what the means are of is never the same sentence: of the shuffled file of a language, `test` where it is
labelled and `dev` otherwise, the first `--limit` are scored, `--pick` behind them pick, and `--text` behind those are
the text of the mean. English's is of training sentences. XNLI picks on dev, whose texts the means are of.

A line of `--out` is a head in one language, at one shift layer, or centred. What is in the file is not done again;
heads of a task are kept in `--heads`.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from measuring import machine
from shift_tables import markdown
from tunings_cell import split_of

from dlfa_adapters.analysis.language_text import LanguageText, text_of_data
from dlfa_adapters.analysis.means import measure_encoder_means, measure_run_means
from dlfa_adapters.data.alignment import special_ids
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.encoders.compute import Below, LowerStates, compute_states
from dlfa_adapters.encoders.shift import Shift
from dlfa_adapters.encoders.states import states_of
from dlfa_adapters.ground.tensors import read_tensors, save_tensors
from dlfa_adapters.kinds import metrics_for
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning import train
from dlfa_adapters.learning.dataset import make_examples
from dlfa_adapters.learning.features import add_trained_head, all_rates
from dlfa_adapters.learning.frozen.examples import OnStates
from dlfa_adapters.learning.frozen.head import Epoch, HeadSpec, TrainedHead
from dlfa_adapters.learning.frozen.learn import Linear, learn_on_states
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.runs import read_run
from dlfa_adapters.tasks import TASKS
from dlfa_adapters.tuning import get_tuning

LANGUAGES = {
    "ner": "ar,de,es,hi,ru,sw,tr,zh",
    "pos": "ar,es,et,fr,hi,ru,tr,zh",
    "xnli": "ar,de,el,es,fr,hi,ru,th,tr,vi,zh",
}

DEFAULTS = get_tuning("features").defaults.head
"""Options of a head on frozen states where `dlfa train` is told none."""


@dataclass
class Frozen:
    """A tagging task on the frozen encoder.

    Args:
        task: Its name.
        args: Of the command line.
    """

    task: str
    args: argparse.Namespace

    def __post_init__(self) -> None:
        self.known, self.data = TASKS[self.task], getattr(self.args, {"ner": "panx", "pos": "udpos"}[self.task])
        self.languages = languages_of(self.args, self.task)
        self.splits = split_of(str(self.data), self.task, self.languages)
        self.encoder = load_encoder(self.args.model)
        self.model = self.encoder.model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self.depth, self.pad = self.model.config.num_hidden_layers, self.encoder.tokenizer.pad_token_id
        self.layers = sorted({*self.args.fuse_layers, *self.args.shift_layers, self.depth})

    def spec(self, layer: int, seed: int = 0) -> HeadSpec:
        """A head."""
        if self.args.fusion == "layer":
            return HeadSpec.of(f"layer {layer}", seed, fusion="layer", fuse_layer=layer)
        return HeadSpec.of(f"D_{layer}", seed, fuse_layer=layer, **DEFAULTS)

    def sentences(self, language: str, split: str) -> Any:
        """All of a file, shuffled."""
        return load_source(str(self.data), self.task, split, [language]).dataset.shuffle(seed=0)

    def examples(self, sentences: Any, first: int, last: int) -> Examples:
        """Some of them, as rows for the encoder."""
        if len(sentences) < last:
            raise SystemExit(f"{self.data}: {last} sentences are needed, there are {len(sentences)}")
        return make_examples(self.known, sentences.select(range(first, last)), self.encoder.tokenizer, Settings())

    def on_states(self, examples: Examples) -> OnStates:
        """What the encoder makes of them, exactly."""
        device = self.model.device
        states = compute_states(self.model, examples.rows, self.pad, layers=self.layers, exact=True, cache_on=device)
        return OnStates.of(examples, states)

    def prepare(self) -> None:
        """Read all text, measure the means, train the heads or read them."""
        limit, pick, text = self.args.limit, self.args.pick, self.args.text
        english, dev = self.sentences("en", "train"), self.sentences("en", "dev")
        self.scored, self.picking, texts = {}, {}, {"en": english["words"][:text]}
        self.scored["en"] = self.examples(self.sentences("en", "test"), 0, limit)
        for language in self.languages:
            found = self.sentences(language, self.splits[language])
            self.scored[language] = self.examples(found, 0, limit)
            self.picking[language] = self.examples(found, limit, limit + pick)
            texts[language] = found["words"][limit + pick : limit + pick + text]
        named = {name: LanguageText(of_it, self.task, len(of_it)) for name, of_it in texts.items()}
        self.means = measure_encoder_means(self.encoder, named)
        self.centring = Centring(self.means, tuple(range(self.depth + 1)))
        self.heads = self._heads(self.examples(english, 0, self.args.train), self.examples(dev, 0, self.args.dev))
        for name, head in self.heads.items():
            add_trained_head(self.model, name, head, self.known.labels)
        self.model.to(self.model.device)
        self.below = Below(1, self._lengths(), ())

    def _heads(self, *both: Examples) -> dict[str, TrainedHead]:
        """All heads by name, `D_7 seed 0 centred`."""
        place = self.args.heads / f"{self.task}-{self.args.fusion}.safetensors"
        if not place.exists():
            plain = [self.on_states(each) for each in both]
            heads = self._trained(plain, "")
            heads |= self._trained([self.centred(each, "en") for each in plain], " centred")
            weights = {f"{name}/{key}": x for name, head in heads.items() for key, x in head.state_dict.items()}
            about = {
                name: [head.spec.head.layers[0], head.spec.seed, *head.rate, head.epoch, head.dev_score]
                for name, head in heads.items()
            }
            save_tensors(place, weights, about)
        weights, about = read_tensors(place)
        heads = {}
        for name, (layer, seed, learning_rate, decay, epoch, score) in about.items():
            own = {key.partition("/")[2]: x for key, x in weights.items() if key.startswith(f"{name}/")}
            [rate] = all_rates([learning_rate], decay)
            spec = self.spec(layer, seed)
            heads[name] = TrainedHead(spec, rate, epochs=[Epoch(epoch, score, own)])
        return heads

    def _trained(self, both: Sequence[OnStates], centred: str) -> dict[str, TrainedHead]:
        """Heads at their best rates, which the first seed found."""
        specs = [self.spec(layer) for layer in self.args.fuse_layers]
        schedule, rates = Linear(self.args.epochs), all_rates(self.args.rates)
        trials = learn_on_states(specs, *both, self.known, schedule, rates=[rates] * len(specs))
        for trial in trials:
            print(f"{self.task} {trial.head.spec.name}{centred}: {trial.rates} {trial.dev} {trial.edge}", flush=True)
        more = [(replace(trial.head.spec, seed=s), trial.rate) for trial in trials for s in range(1, self.args.seeds)]
        specs, chosen = [spec for spec, _ in more], [[rate] for _, rate in more]
        others = learn_on_states(specs, *both, self.known, schedule, rates=chosen) if more else []
        heads = [trial.head for trial in (*trials, *others)]
        return {f"{head.spec.name} seed {head.spec.seed}{centred}": head for head in heads}

    def _lengths(self) -> tuple[int, ...]:
        """For every block how many values it gives."""
        found: list[int] = []
        blocks = [block for _, block in self.model.iter_layers()]
        handles = [
            block.register_forward_hook(lambda _, args, out: found.append(len(out) if isinstance(out, tuple) else 0))
            for block in blocks
        ]
        states_of(self.model, self.scored["en"].rows[:1], self.pad, [self.depth])
        for handle in handles:
            handle.remove()
        return tuple(found)

    def centred(self, data: OnStates, language: str) -> OnStates:
        """The same without the mean of the language."""
        return replace(data, states=self.centring.states(data.states, [language] * len(data.examples.rows)))

    def shifted(self, data: OnStates, language: str, layer: int, alpha: float) -> OnStates:
        """The same shifted: blocks above the layer run on shifted states, those below are not run again."""
        rows, shift = data.examples.rows, Shift.between(self.means, language, "en", layer, alpha)
        below = replace(self.below, depth=layer, layers=tuple(k for k in self.layers if k <= layer))
        lower, raw = LowerStates(below, data.states), data.states
        tokens = torch.empty_like(raw.tokens)
        with torch.no_grad(), lower.installed(self.model):
            for batch in token_budget_batches(raw.lengths(), 4096):
                with lower.read(torch.tensor(batch)):
                    states = states_of(self.model, [rows[i] for i in batch], self.pad, self.layers, [shift])
                lengths = [len(rows[i].input_ids) for i in batch]
                for i, part in zip(batch, states.split(lengths), strict=True):
                    tokens[raw.offsets[i] : raw.offsets[i + 1]] = part
        return replace(data, states=replace(raw, tokens=tokens))

    def cosine(self, data: OnStates, name: str) -> float:
        """Of the mean of a text with English's, in the layers that a head reads."""
        special = torch.tensor(sorted(special_ids(self.encoder.tokenizer)))
        pieces = torch.tensor([piece for row in data.examples.rows for piece in row.input_ids])
        inside = (~torch.isin(pieces, special)).to(data.states.device)
        read = sorted(set(self.model.heads[name].indices))
        states = data.states.tokens[inside][:, [self.layers.index(layer) for layer in read]]
        mean, source = states.double().mean(0).float().cpu(), self.means.of("en")[read]
        return float(torch.nn.functional.cosine_similarity(mean, source, dim=1).mean())

    def rows(self, language: str) -> Iterator[dict[str, Any]]:
        """All heads in one language: centred, and shifted at every layer by every alpha; English is not shifted."""
        data = self.on_states(self.scored[language])
        pick = self.on_states(self.picking[language]) if language != "en" else None
        about = {"task": self.task, "language": language, "split": self.splits.get(language, "test")}
        for name, head in self.heads.items():
            centred = name.endswith("centred")
            read = self.centred(data, language) if centred else data
            if centred or pick is None:
                yield {**about, **told_of(head, centred), "scores": {"0": self.score(read, name)}}
        plain = {name: head for name, head in self.heads.items() if not name.endswith("centred")}
        for layer in self.args.shift_layers if pick is not None else ():
            scores: dict[str, dict[str, dict[str, float]]] = {}
            for alpha in (0.0, *self.args.alphas):
                here, there = (self.shifted(each, language, layer, alpha) if alpha else each for each in (data, pick))
                for name in plain:
                    found = scores.setdefault(name, {"scores": {}, "picking": {}, "cosine": {}})
                    found["scores"][f"{alpha:g}"] = self.score(here, name)
                    found["picking"][f"{alpha:g}"] = self.score(there, name)
                    found["cosine"][f"{alpha:g}"] = round(self.cosine(here, name), 6)
            for name, found in scores.items():
                yield {**about, **told_of(plain[name]), "layer": layer, **found}

    def score(self, data: OnStates, name: str) -> float:
        """The main score of a head, in percent."""
        return round(data.evaluate(self.model.heads[name])[0], 2)


def told_of(head: TrainedHead, centred: bool = False) -> dict[str, Any]:
    """Which head a row is of."""
    rate, dev = head.rate.learning_rate, round(head.dev_score, 2)
    return {"head": head.spec.name, "seed": head.spec.seed, "centred": centred, "rate": rate, "dev": dev}


def frozen(task: str, args: argparse.Namespace, done: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of a tagging task, of the languages that are missing."""
    mine = [row for row in done if row["task"] == task and row["head"].startswith("D") == (args.fusion == "dlfa")]
    there = {row["language"] for row in mine}
    missing = [language for language in ("en", *languages_of(args, task)) if language not in there]
    if not missing:
        return
    start = time.process_time()
    work = Frozen(task, args)
    work.prepare()
    print(f"{task}: heads after {time.process_time() - start:.0f} s of processor time", flush=True)
    for language in missing:
        rows = list(work.rows(language))
        rows[-1]["seconds"] = round(time.process_time() - start, 1)  # of this process, for the task, up to here
        print(f"{task} {language}: after {rows[-1]['seconds']:.0f} s", flush=True)
        yield from rows


def xnli(args: argparse.Namespace, done: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of XNLI: a training as it is, and one that is centred, for each seed."""
    languages, data = languages_of(args, "xnli"), str(args.xnli)
    there = {(row["seed"], row["centred"], row.get("layer")) for row in done if row.get("task") == "xnli"}
    args.heads.mkdir(parents=True, exist_ok=True)
    plain = args.heads / "xnli-encoder.safetensors"
    if not plain.exists():
        texts, _ = text_of_data(data, "xnli", "dev", ["en", *languages], args.text)
        measure_encoder_means(load_encoder(args.model), texts).save(plain)
    for seed in args.only_seeds or range(args.seeds):
        for centred in (False, True):
            keys = [(seed, centred, layer) for layer in ((None,) if centred else (None, *args.nli_layers))]
            if set(keys) <= there:
                continue
            run = nli_run(args, seed, str(plain) if centred else None)
            means = args.heads / f"{run.folder.name}.safetensors"
            if not centred and not means.exists():
                texts, _ = text_of_data(data, "xnli", "dev", ["en", *languages], args.text)
                measure_run_means(run, texts).save(means)
            for key in keys:
                if key not in there:
                    yield from nli_rows(args, run, key, means)


def nli_run(args: argparse.Namespace, seed: int, center: str | None) -> Any:
    """Train, or read what is there."""
    out = args.heads / f"xnli-{seed}{'-centred' if center else ''}"
    if out.exists():
        return read_run(out)
    pairs = load_source(str(args.taxinli), "xnli", "train", ["en"]).dataset.shuffle(seed=0)
    dev = load_source(str(args.xnli), "xnli", "dev", ["en"]).dataset
    given = {"fusion": "last", "tuning": args.tuning, "center": center, "seed": seed, "max_steps": args.max_steps}
    return train(
        "xnli",
        train_data=pairs.select(range(min(args.limit_train or len(pairs), len(pairs)))),
        dev_data=dev.select(range(min(args.limit_dev, len(dev)))),
        language="en",
        model=args.model,
        learning_rate=args.learning_rate,
        out=out,
        **given,
    )


def nli_rows(
    args: argparse.Namespace, run: Any, key: tuple[int, bool, int | None], means: Path
) -> Iterator[dict[str, Any]]:
    """A run as it is, or shifted at one layer with both ways to pick alpha; a row a language."""
    seed, centred, layer = key
    names = [*(["en"] if layer is None else []), *languages_of(args, "xnli")]
    given = {"split": "test", "languages": names, "limit": args.limit}
    about = {"task": "xnli", "split": "test", "head": f"{args.tuning} last", "seed": seed, "centred": centred}
    about |= {"rate": args.learning_rate, "dev": max(run.config["training"]["dev_scores"])}
    if layer is None:
        for found in predict_run(run, str(args.xnli), **given).languages:
            yield {**about, "language": found.language, "scores": {"0": accuracy(found)}}
        return
    rows: dict[str, dict[str, Any]] = {
        name: {**about, "language": name, "layer": layer, "scores": {}} for name in names
    }
    for way, column in (("dev", "picking"), ("text", "cosine")):
        found = predict_run(run, str(args.xnli), shift=f"{means}@{layer}:{way}", **given)
        told = found.about["run"]["shift"]
        for each in found.languages:
            row = rows[each.language]
            row[column] = told["tried"][each.language]
            row["scores"][f"{told['alphas'][each.language]:g}"] = accuracy(each)
    yield from rows.values()


def accuracy(found: Any) -> float:
    """In percent."""
    metric = metrics_for(TASKS["xnli"])[0]
    return round(100 * metric.compute(predictions=found.predicted, references=found.gold)[metric.main_score], 2)


def languages_of(args: argparse.Namespace, task: str) -> list[str]:
    """The target languages."""
    return (args.languages or LANGUAGES[task]).split(",")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What is done already."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def main() -> None:
    """Add what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", choices=("ner", "pos", "xnli", []), default=[])
    parser.add_argument("--panx", type=Path)
    parser.add_argument("--udpos", type=Path)
    parser.add_argument("--taxinli", type=Path)
    parser.add_argument("--xnli", type=Path)
    parser.add_argument("--model", default="offline")
    parser.add_argument("--languages", help="targets, e.g. de,sw; default: chosen for each task")
    parser.add_argument("--fusion", choices=("dlfa", "layer"), default="dlfa", help="`layer`: one layer alone, no gate")
    parser.add_argument("--fuse-layers", type=int, nargs="+", default=[4, 7, 10])
    parser.add_argument("--shift-layers", type=int, nargs="+", default=[4, 7, 10])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0])
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3, 3e-3, 1e-2, 3e-2, 1e-1])
    parser.add_argument("--epochs", type=int, default=10, help="of heads on frozen states")
    parser.add_argument("--train", type=int, default=5000, help="English sentences")
    parser.add_argument("--dev", type=int, default=1000, help="English sentences")
    parser.add_argument("--limit", type=int, default=500, help="items of a language that are scored")
    parser.add_argument("--pick", type=int, default=250, help="labelled sentences of a language that pick alpha")
    parser.add_argument("--text", type=int, default=250, help="sentences of a language for its mean")
    parser.add_argument("--tuning", default="freeze:6", help="of XNLI")
    parser.add_argument("--nli-layers", type=int, nargs="+", default=[2, 4, 6])
    parser.add_argument("--learning-rate", type=float, default=1e-4, help="of XNLI")
    parser.add_argument("--limit-train", type=int, help="pairs to learn from")
    parser.add_argument("--limit-dev", type=int, default=1000, help="English pairs of XNLI's dev data")
    parser.add_argument("--max-steps", type=int, default=-1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only-seeds", type=int, nargs="+", help="of XNLI: these, in a process for each, say")
    parser.add_argument("--heads", type=Path, default=Path("runs/language-shift"), help="folder for what was trained")
    parser.add_argument("--out", type=Path, default=Path("language-shift.jsonl"))
    parser.add_argument("--table", type=Path, help="print the tables of this file, and do nothing else")
    args = parser.parse_args()
    if args.table is None:
        done = read_rows(args.out)
        for task in args.tasks:
            rows = xnli(args, done) if task == "xnli" else frozen(task, args, done)
            for row in rows:
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        print(", ".join(f"{name} {value}" for name, value in machine().items()))
    print("\n".join(markdown(read_rows(args.table or args.out))))


if __name__ == "__main__":
    main()
