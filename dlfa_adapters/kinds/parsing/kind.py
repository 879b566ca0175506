"""Parsing: a head and a relation for each word, in the form of Universal Dependencies.

An input is a sentence's words with the parts of speech that its data give them, gold a list of `Arc`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.conllu import Tree
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.of_words import KindOfWords
from dlfa_adapters.kinds.parsing.options import BiaffineOptions, ParserOptions, with_upos
from dlfa_adapters.kinds.parsing.tree import ROOT, Arc, cut_subtype, same_relation
from dlfa_adapters.kinds.parsing.upos import TaggedWords, with_parts_of_speech
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.task import check_labels

if TYPE_CHECKING:
    from dlfa_adapters.kinds.parsing.biaffine import Biaffine
    from dlfa_adapters.kinds.parsing.encode import Trees
    from dlfa_adapters.kinds.parsing.onnx_form import ParserForm
    from dlfa_adapters.kinds.parsing.parser import Parser

MOST_PIECES = 512
"""Longer windows are not made unless they are learned from: the memory of the scores grows with their square."""

MOST_DRAWN = 30
"""Words of a tree that a page can show without being scrolled much."""

RATES_ON_STATES = (3e-4, 1e-3, 3e-3, 1e-2)
"""Lower ones than a linear classifier's: scores are products of two layers that learn, and Dozat and Manning 2017 learn
theirs at 2e-3. All twelve trainings of docs/results/parsing.md that could choose among these took 3e-3, which is the
lowest of what is tried for linear classifiers."""


class Parsing(KindOfWords):
    """A head and a relation for each word."""

    name, metric = "parsing", "las"
    described, units, texts, verb = "words with heads and relations", ("sentences", "words"), "sentences", "Parsing"
    shown_as = (
        "Arcs go from heads to dependents. Wrong ones are red, dashed where the head is wrong; below the words are "
        "the gold ones for them."
    )
    item, of_words, unit, format = Tree, True, "sentences", "conllu"
    metrics_in_words = MappingProxyType({"las": "LAS"})
    label_a_unit, suffix = False, ".conllu"
    pipeline, peft_task = "dependency-parsing", "TOKEN_CLS"  # with which PEFT trains and saves the whole classifier
    auto_class, plain_class = "AutoModelForDependencyParsing", "DLFAForDependencyParsing"
    head_types = ("biaffine",)
    own_heads = MappingProxyType({"biaffine": BiaffineOptions})
    rates_on_states = RATES_ON_STATES
    options = ParserOptions
    head_inputs = ("word_ids", "word_mask", "upos_ids")
    plain_heads = MappingProxyType({"biaffine": None})
    label_inputs = ("labels_arcs", "labels_rels")

    def make_task(self, name: str, labels: Iterable[str], metric: str | None = None, *, pair: bool = False) -> Task:
        """A parsing task with these relations, those that they are subtypes of, and `root`."""
        names = check_labels(name, labels)
        every = dict.fromkeys([*names, *map(cut_subtype, names), ROOT])
        return Task(name=name, kind=self.name, labels=tuple(every), metric=self.metric)

    def features(self) -> Any:
        """Words, their parts of speech to be read and those of gold, heads (0: the root) and relations."""
        from datasets import Features, List, Value

        texts = dict.fromkeys(("words", "upos", "deprels", "gold_upos"), List(Value("string")))
        return Features({**texts, "heads": List(Value("int32"))})

    def usable(
        self, rows: list[tuple[str, Any]], task: Task | None, split: str, notes: Notes
    ) -> tuple[list[tuple[str, Any]], Counter[str]]:
        """All of them, if they are trees."""
        if wrong := next((item.wrong for _, item in rows if item.wrong), None):
            raise DataError(wrong)
        labels = None if task is None else task.labels
        return rows, Counter(label for _, item in rows for label in _as_known(item.deprels(), labels))

    def labels_in(self, items: Sequence[Any]) -> Counter[str]:
        """The relations of those that are trees."""
        return Counter(deprel for item in items if not item.wrong for deprel in item.deprels())

    def columns(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """See `features`."""
        return {
            "words": [item.words for item in items],
            "upos": [item.tags for item in items],
            "deprels": [item.deprels() for item in items],
            "gold_upos": [[node[3] for node in item.nodes] for item in items],
            "heads": [item.heads() for item in items],
        }

    def inputs(self, columns: Mapping[str, Any]) -> list[Any]:
        """Words with parts of speech."""
        rows = zip(columns["words"], columns["upos"], strict=True)
        return [TaggedWords(tuple(words), tuple(upos)) for words, upos in rows]

    def gold(self, columns: Mapping[str, Any]) -> list[Any]:
        """The arcs of each sentence."""
        rows = zip(columns["heads"], columns["deprels"], columns["gold_upos"], strict=True)
        return [[Arc(*arc) for arc in zip(*row, strict=True)] for row in rows]

    def is_empty(self, input: Any) -> bool:
        """A sentence without words."""
        return not input.words

    def labels_of(self, answers: Sequence[Any], labels: Sequence[str] | None = None) -> list[str]:
        """The relations of all sentences; a subtype that is none of `labels` is cut."""
        return [name for arcs in answers for name in _as_known([arc.deprel for arc in arcs], labels)]

    def completed(self, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
        """See `upos.with_parts_of_speech`."""
        return with_parts_of_speech(inputs, options.get("upos"))

    def longest(self, max_length: int, limit: int) -> int:
        """As many as the encoder takes: a head may be far away, and outside its window it is not found."""
        return max(max_length, min(limit, MOST_PIECES))

    def encode(self, tokenizer: Any, inputs: Sequence[Any], labels: Sequence[str], **cut: Any) -> "Trees":
        """See `encode.Trees`."""
        from dlfa_adapters.kinds.parsing.encode import Trees

        return Trees(tokenizer, inputs, labels, **cut)

    def predictor(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        windows: Mapping[str, Any],
        pair: bool | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Parser":
        """See `parser.Parser`."""
        from dlfa_adapters.kinds.parsing.parser import Parser

        return Parser(model, tokenizer, labels, **windows, **options)

    def usage(self, name: str) -> str:
        """See `Kind`."""
        return f'parser = pipeline("{self.pipeline}", model="{name}")'

    def split_options(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `options.with_upos`."""
        return with_upos(*super().split_options(given))

    def make_head(self, head_type: str, width: int, num_labels: int, options: Any) -> "Biaffine":
        """See `biaffine.Biaffine`."""
        from dlfa_adapters.kinds.parsing.biaffine import Biaffine

        return Biaffine(width, num_labels, options)

    def onnx_form(self, config: Mapping[str, Any], labels: Sequence[str]) -> "ParserForm":
        """See `onnx_form.ParserForm`."""
        from dlfa_adapters.kinds.parsing.onnx_form import ParserForm

        return ParserForm(list(labels).index(ROOT), reads_upos=bool(config["upos_size"]))

    def onnx_sources(self) -> dict[str, Path]:
        """See `KindOfHead`; with what makes trees of scores."""
        here = Path(__file__).parent
        parts = {name: here / f"{name}.py" for name in ("assemble", "decode")}
        return {**super().onnx_sources(), **parts, "trees": here.parents[1] / "data" / "trees.py"}

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Words whose head is learned."""
        from dlfa_adapters.data.batching import IGNORED

        return (labels != IGNORED).sum()

    def metrics(self, task: Task) -> tuple[Any, ...]:
        """Attachment, with subtypes where some labels are."""
        from dlfa_adapters.kinds.parsing.attachment import AttachmentScore

        return (AttachmentScore(subtypes=any(":" in label for label in task.labels)),)

    def write_predictions(self, path: Path, predicted: Any) -> None:
        """See `files.write_trees`."""
        from dlfa_adapters.kinds.parsing.files import write_trees

        write_trees(path, predicted)

    def read_predictions(self, path: Path, ids: list[str] | None) -> dict[str, Any]:
        """See `files.read_trees`."""
        from dlfa_adapters.kinds.parsing.files import read_trees

        return read_trees(path)

    def are_right(self, gold: Sequence[Any], predicted: Sequence[Any]) -> list[bool]:
        """Whether all heads and relations of a sentence are right, subtypes left aside as in the main score."""
        return [all(map(same_relation, guess, right)) for right, guess in zip(gold, predicted, strict=True)]

    def is_telling(self, input: Any, gold: Any, predicted: Any) -> bool:
        """Whether a tree has an arc between words, and is not too wide for a page."""
        return 1 < len(input.words) <= MOST_DRAWN

    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> Any:
        """The tree of a sentence, drawn."""
        from dlfa_adapters.kinds.parsing.drawing import tree_svg
        from dlfa_adapters.kinds.shown import ShownLine, direction, join_words

        reading = direction(join_words(input.words, language))
        return [ShownLine("", [], reading, drawing=tree_svg(input.words, gold, predicted))]

    def read_lines(self, texts: Sequence[str], language: str | None, pair: bool | None) -> list[Any]:
        """See `files.trees_from`."""
        from dlfa_adapters.kinds.parsing.files import trees_from

        return trees_from(texts, language)

    def answers(self, predictor: Any, texts: Sequence[str], inputs: Sequence[Any], on_progress: Any) -> list[Any]:
        """See `files.answers`."""
        from dlfa_adapters.kinds.parsing.files import answers

        return answers(predictor, inputs, on_progress)

    def printed(self, answer: Any) -> Iterator[tuple[str, str]]:
        """The lines of CoNLL-U."""
        yield from ((line, "") for line in answer["conllu"].split("\n"))


def _as_known(deprels: Sequence[str], labels: Sequence[str] | None) -> list[str]:
    """Relations, without the subtypes that are none of some labels."""
    if labels is None:
        return list(deprels)
    known = frozenset(labels)
    return [name if name in known else cut_subtype(name) for name in deprels]
