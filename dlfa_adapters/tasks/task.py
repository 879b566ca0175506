"""What a task is: its kind, its labels in a fixed order, its metric, its languages and its default fuse layer.

`TASKS` are those known by name: those of the library, and those that a user registers.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError


class KindOfTask(ABC):
    """What a task asks of its kind; `dlfa_adapters.kinds.Kind` has all that a kind is.

    Attributes:
        name: Its name.
        takes_pairs: Whether an item may be a pair of texts.
    """

    name: ClassVar[str]
    takes_pairs: ClassVar[bool] = False

    @abstractmethod
    def metrics_of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """By what a task with these labels can be scored."""


KINDS: dict[str, Any] = {}
"""The kinds of tasks by name, registered by `dlfa_adapters.kinds`. Data and tasks look them up here, because that
package stands above them; all others call `kinds.kind_named`."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task that this library knows by name.

    Attributes:
        name: The name, as in `model.add_dlfa_head("ner")` and `dlfa train ner`.
        kind: A name of `KINDS`: `tagging` (a label a word), `classification` (a label a text or pair of texts), or
            `parsing` (a head and a relation a word).
        labels: Label names; the position is the label id. Fixed here and saved with every head, never taken from the
            order in which a file happens to list them.
        metric: The main score: `span_f1`, `accuracy`, `las`.
        pair: Whether an item is a pair of texts.
        parallel: Whether its data are the same items in every language: those with the same id, or in files without ids
            at the same place, are then translations of each other, and are resampled together.
        fuse_layer_of_12: The best fuse layer of the DLFA paper (Table II, mBERT, 12 layers), or None where the paper
            has no such task.
        languages: The target languages of XTREME (ISO 639-1) for the task, or () where XTREME has no such task.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    metric: str
    pair: bool = False
    parallel: bool = False
    fuse_layer_of_12: int | None = None
    languages: tuple[str, ...] = ()

    @property
    def id2label(self) -> dict[int, str]:
        """Label id to label name."""
        return dict(enumerate(self.labels))

    def default_fuse_layer(self, num_layers: int) -> int | None:
        """The paper's best layer, scaled from 12 layers to the depth of another encoder.

        For depth L and the paper's layer k this is min(L - 1, max(1, round(k L / 12))): never the last layer itself.
        Without a layer from the paper it is two thirds of the depth.

        Args:
            num_layers: Number of blocks L of the encoder.

        Returns:
            A layer in 1..L-1, or None for an encoder with a single block, which has no lower layer to fuse.
        """
        if num_layers < 2:
            return None
        layer = round((8 if self.fuse_layer_of_12 is None else self.fuse_layer_of_12) * num_layers / 12)
        return min(num_layers - 1, max(1, layer))


NER = Task(
    name="ner",
    kind="tagging",
    labels=("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"),
    metric="span_f1",
    fuse_layer_of_12=8,
    # XTREME's 40 languages (Hu et al. 2020, arXiv 2003.11080, Table 1).
    languages=tuple(
        "af ar bg bn de el en es et eu fa fi fr he hi hu id it ja jv ka kk ko ml mr ms my nl pt ru sw ta te th tl tr "
        "ur vi yo zh".split()
    ),
)
"""Named entity recognition: WikiANN/PAN-X tags, span F1."""

POS = Task(
    name="pos",
    kind="tagging",
    labels=tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()),
    metric="accuracy",
    fuse_layer_of_12=10,
    # XTREME's 33 languages (Hu et al. 2020, arXiv 2003.11080, Table 1).
    languages=tuple(
        "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh".split()
    ),
)
"""Part-of-speech tagging: the 17 universal tags, accuracy."""

XNLI = Task(
    name="xnli",
    kind="classification",
    labels=("entailment", "neutral", "contradiction"),
    metric="accuracy",
    pair=True,
    parallel=True,
    fuse_layer_of_12=11,
    # The 15 languages of XNLI (Conneau et al. 2018, arXiv 1809.05053).
    languages=tuple("ar bg de el en es fr hi ru sw th tr ur vi zh".split()),
)
"""Natural language inference: three classes, accuracy."""

PAWSX = Task(
    name="pawsx",
    kind="classification",
    labels=("0", "1"),
    metric="accuracy",
    pair=True,
    parallel=True,
    fuse_layer_of_12=6,
    # The 7 languages of PAWS-X (Yang et al. 2019, arXiv 1908.11828).
    languages=tuple("de en es fr ja ko zh".split()),
)
"""Paraphrase identification: PAWS-X, two classes, accuracy."""

TOPIC = Task(
    name="topic",
    kind="classification",
    # In the order of the data set's own labels.txt.
    labels=("science/technology", "travel", "politics", "sports", "health", "entertainment", "geography"),
    metric="accuracy",
)
"""Topic of a sentence: SIB-200, seven classes, accuracy and macro-F1 (Adelani et al. 2024, arXiv 2309.07445)."""

MLDOC = Task(name="mldoc", kind="classification", labels=("CCAT", "ECAT", "GCAT", "MCAT"), metric="accuracy")
"""Topic of a news article: MLDoc, four classes, accuracy (Schwenk and Li 2018, arXiv 1805.09821)."""

SENTIMENT = Task(name="sentiment", kind="classification", labels=("negative", "neutral", "positive"), metric="accuracy")
"""Sentiment of a text: three classes, which XLM-T's files write as 0, 1, 2, in this order; accuracy and macro-F1
(Barbieri et al. 2022, arXiv 2104.12250)."""

MARC = Task(name="marc", kind="classification", labels=("1", "2", "3", "4", "5"), metric="accuracy")
"""Stars of a product review: the Multilingual Amazon Reviews Corpus, five classes, accuracy and macro-F1 (Keung et al.
2020, arXiv 2010.02573)."""

PARSE = Task(
    name="parse",
    kind="parsing",
    # The universal relations of UD v2, without subtypes (de Marneffe et al. 2021, Computational Linguistics 47(2)).
    labels=tuple(
        "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl "
        "fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
        "xcomp".split()
    ),
    metric="las",
)
"""Dependency parsing: Universal Dependencies, labelled attachment score (Wu and Dredze 2019, arXiv 1904.09077)."""

TASKS: dict[str, Task] = {task.name: task for task in (NER, POS, XNLI, PAWSX, TOPIC, MLDOC, SENTIMENT, MARC, PARSE)}

_OURS = frozenset(TASKS)


def get_task(name: str) -> Task | None:
    """The task with this name, or None where the library knows none; matching is exact."""
    return TASKS.get(name)


def register_task(task: Task, *, overwrite_ok: bool = False) -> Task:
    """Make a task known by its name: in `model.add_dlfa_head("name")`, `train("name")` and `load_data(task="name")`.

    Args:
        task: E.g. from `tagging_task` or `classification_task`; or a `Task` with languages and a fuse layer of its own.
        overwrite_ok: Whether a task that was registered under this name before may be replaced.

    Returns:
        The task.

    Raises:
        ConfigError: If the name is bad, taken, or one of the library's own; or kind, labels, metric and fuse layer do
            not fit together.
    """
    check_new_name("task", task.name, TASKS, _OURS, overwrite_ok)
    check_labels(task.name, task.labels)
    if task.kind not in KINDS:
        raise ConfigError(f"task {task.name!r}: kind must be one of {', '.join(KINDS)}, got {task.kind!r}")
    kind: KindOfTask = KINDS[task.kind]
    if task.metric not in (metrics := kind.metrics_of(task.labels)):
        raise ConfigError(
            f"task {task.name!r}: expected the metric {' or '.join(metrics)} for {task.kind} with these labels, got "
            f"{task.metric!r}"
        )
    if task.pair and not kind.takes_pairs:
        raise ConfigError(f"task {task.name!r}: pairs of texts are classified, not tagged; leave pair out")
    if task.fuse_layer_of_12 is not None and not 0 <= task.fuse_layer_of_12 <= 12:
        raise ConfigError(f"task {task.name!r}: fuse_layer_of_12 must lie in 0..12, got {task.fuse_layer_of_12}")
    TASKS[task.name] = task
    return task


def check_labels(name: str, labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of a task as a tuple.

    Raises:
        ConfigError: There are fewer than two, or one occurs twice.
    """
    names = tuple(labels)
    twice = [label for label in dict.fromkeys(names) if names.count(label) > 1]
    if twice:
        raise ConfigError(f"task {name!r}: expected distinct labels, but {twice[0]!r} occurs twice")
    if len(names) < 2:
        raise ConfigError(f"task {name!r}: expected at least two labels, but got {list(names)}")
    return names


def check_new_name(what: str, name: object, known: Collection[str], ours: Collection[str], overwrite_ok: bool) -> None:
    """Refuse a name that nothing can be registered under; a `known` one may be replaced if it is not one of `ours`.

    Raises:
        ConfigError: If the name is not one in lower case, or is taken.
    """
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise ConfigError(
            f"The name of a {what} must be lower-case letters, digits, _ and -, a letter first; got {name!r}."
        )
    if name in ours:
        raise ConfigError(f"The {what} {name!r} is the library's own; register yours under another name.")
    if name in known and not overwrite_ok:
        raise ConfigError(f"There is a {what} {name!r} already; type overwrite_ok=True to replace it.")
