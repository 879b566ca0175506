"""What a kind of task is: all that this library has to know of it, in one object.

    kind = kind_of_task(task)
    inputs, gold = kind.inputs(dataset), kind.gold(dataset)
    predictions = kind.encode(tokenizer, inputs, task.labels).decode([(rows, logits)])
    report = [metric.compute(predictions=predictions, references=gold) for metric in kind.metrics(task)]

Nothing outside asks which kind it is. A kind is a subclass of `Kind` in a package of its own, and a call of
`register_kind`; what takes seconds to import (PyTorch, the metrics) is imported inside methods.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.head import KindOfHead
from dlfa_adapters.tasks import Task

if TYPE_CHECKING:
    from dlfa_adapters.kinds.encoded import Encoded, Predictor
    from dlfa_adapters.kinds.metric import Metric
    from dlfa_adapters.kinds.shown import Confusion, ShownLine, TypeTable


class Kind(KindOfHead):
    """A kind of task, scored in one way.

    An *input* is what a model predicts for: the words of a sentence, a text and its second one or None. *Gold* is
    what is right for it: a tag for each word, a label, a head and a relation for each word. So are predictions.

    Attributes:
        metric: The metric of a task that is scored in this way.
        described: What its data are, for a sentence.
        units: What is counted of data: items, and where they have parts that are scored one by one, those.
        texts: What its items are called before a training.
        verb: What a model is doing, for a progress bar.
        shown_as: How `lines` show gold and predictions, in a sentence; "" where that needs none.
        label_a_unit: Whether every word or text has one of the task's labels, which linear classifiers can learn.
        shows_support: Whether a table says how many things there are in gold, because they are none of `units`.
        shares_gold: Whether an item and its translation have the same gold.
        ids_beside: Whether the ids of items stand in a file beside the predictions.
        suffix: Of a file of predictions.
    """

    metric: ClassVar[str]
    described: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    texts: ClassVar[str]
    verb: ClassVar[str]
    shown_as: ClassVar[str] = ""
    label_a_unit: ClassVar[bool] = True
    shows_support: ClassVar[bool] = False
    shares_gold: ClassVar[bool] = False
    ids_beside: ClassVar[bool] = False
    suffix: ClassVar[str]

    @property
    def learns_on_states(self) -> bool:
        """Whether heads on the cached states of a frozen encoder can learn such tasks."""
        return self.label_a_unit or self.own_head is not None

    # Tasks

    @abstractmethod
    def make_task(self, name: str, labels: Iterable[str], metric: str | None = None, *, pair: bool = False) -> Task:
        """A task of one's own with these labels; metric None: by what they look like."""

    def metrics_of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """By what a task with these labels can be scored; by default in one way."""
        return (self.metric,)

    def to_learn(self, counts: Mapping[str, int]) -> tuple[list[str], str]:
        """What a task of one's own learns of these labels, by default all, and by which metric it is scored."""
        return list(counts), self.metric

    def record(self, task: Task) -> dict[str, Any]:
        """What a run says of its task besides name and labels."""
        return {}

    def label_notes(self, task: Task) -> Iterator[str]:
        """Sentences on labels that look wrong."""
        yield from ()

    def has_nothing(self, labels: Iterable[str]) -> str | None:
        """What data with these labels alone do not have, so that nothing can be scored; None where something can."""
        return None

    # Data

    @abstractmethod
    def inputs(self, columns: Mapping[str, Any]) -> list[Any]:
        """The inputs in a dataset with the columns of this kind."""

    @abstractmethod
    def gold(self, columns: Mapping[str, Any]) -> list[Any]:
        """The gold in a dataset with the columns of this kind."""

    def is_empty(self, input: Any) -> bool:
        """Whether there is nothing to predict of an input."""
        return False

    def are_pairs(self, inputs: Sequence[Any]) -> bool:
        """Whether the inputs are pairs of texts."""
        return False

    @abstractmethod
    def sizes(self, answers: Sequence[Any]) -> list[int]:
        """How many predictions belong to each item, from gold or predictions."""

    @abstractmethod
    def labels_of(self, answers: Sequence[Any], labels: Sequence[str] | None = None) -> list[str]:
        """Every label in gold or predictions, one after the other; what counts as one of `labels` is called that."""

    def label_counts(self, answers: Sequence[Any], labels: Sequence[str] | None = None) -> Counter[str]:
        """How often each label occurs; see `labels_of`."""
        return Counter(self.labels_of(answers, labels))

    def check_fit(self, languages: Sequence[Any], task: Task, source: str) -> None:
        """Raise a DataError for data (`predict.Items`) that a task cannot be scored on."""

    # Models

    def completed(self, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
        """Inputs with what a model reads besides, as `options` say; see `predictor`."""
        return list(inputs)

    def longest(self, max_length: int, limit: int) -> int:
        """Most pieces of a row that is predicted, where rows to learn from have `max_length` and encoders `limit`."""
        return max_length

    @abstractmethod
    def encode(self, tokenizer: Any, inputs: Sequence[Any], labels: Sequence[str], **cut: Any) -> "Encoded":
        """Inputs as rows for an encoder, and what makes predictions of its logits.

        Args:
            tokenizer: A fast tokenizer.
            inputs: The inputs.
            labels: Label names by id.
            **cut: `max_length` (128), `context` (64) and `pooling` (`first`), whether or not a kind has a use for each.
        """

    @abstractmethod
    def predictor(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        windows: Mapping[str, Any],
        pair: bool | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Predictor":
        """A model that predicts, as a user calls it.

        Args:
            model: The model.
            tokenizer: Its fast tokenizer.
            labels: Label names by id.
            windows: What a run says under that name.
            pair: Whether it was trained on pairs; None where that is not known.
            options: Those of `options`, a predictor in the place of a run folder.
        """

    # Scores

    @abstractmethod
    def metrics(self, task: Task) -> "tuple[Metric, ...]":
        """The metrics of a task: first its main one, then compatibility scores."""

    def scorer(self) -> Any:
        """Scores of many heads at once, see `kinds.loss.Scorer`, by default accuracy; of kinds with `label_a_unit`."""
        if not self.label_a_unit:
            raise ConfigError(f"Tasks of {self.name} are not learned on kept states; type --tuning lora or full.")
        from dlfa_adapters.kinds.loss import Accuracy

        return Accuracy

    @abstractmethod
    def count_notes(self, total: Counter[str]) -> Iterator[str]:
        """Sentences below a report: how much was scored, and what the tokenizer did."""

    def tells_translations(self, own_id: str) -> bool:
        """Whether an item with this id of the data's own is a translation of those with the same id."""
        return True

    def id_name(self, task: Task) -> str:
        """What data of this kind call the ids of their items."""
        return "id"

    # Files and pages

    @abstractmethod
    def write_predictions(self, path: Path, predicted: Any) -> None:
        """Write the predictions of a language (`predict.Predicted`) into a file."""

    @abstractmethod
    def read_predictions(self, path: Path, ids: list[str] | None) -> dict[str, Any]:
        """What `write_predictions` wrote: `ids`, `inputs`, `gold`, `placeholder` and `predicted`."""

    def are_right(self, gold: Sequence[Any], predicted: Sequence[Any]) -> list[bool]:
        """Whether each item is right altogether."""
        return [right == guess for right, guess in zip(gold, predicted, strict=True)]

    def is_telling(self, input: Any, gold: Any, predicted: Any) -> bool:
        """Whether an item is worth a look on a page."""
        return True

    @abstractmethod
    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> "list[ShownLine]":
        """An item on a page."""

    def labels_beside(self, gold: Any, predicted: Any) -> tuple[str, str]:
        """What stands beside an item on a page: gold, and predicted; empty where `lines` say it."""
        return "", ""

    def mistakes(
        self, languages: Sequence[Any], pooled: Sequence[Any], details: Mapping[str, Any], labels: Sequence[str]
    ) -> "TypeTable | Confusion":
        """What a model with some labels mixes up, on a page; by default which label stands for which.

        It gets the predictions of all languages, those that are put together, and the details of each one's report.
        """
        from dlfa_adapters.kinds.shown import confusion

        answers = {x.language: [self.labels_of(side, labels) for side in (x.gold, x.predicted)] for x in languages}
        pairs = {language: Counter(zip(*both, strict=True)) for language, both in answers.items()}
        return confusion(pairs, [x.language for x in pooled], labels)

    # The command line

    @abstractmethod
    def read_lines(self, texts: Sequence[str], language: str | None, pair: bool | None) -> list[Any]:
        """Lines that somebody typed, as inputs."""

    @abstractmethod
    def answers(self, predictor: Any, texts: Sequence[str], inputs: Sequence[Any], on_progress: Any) -> list[Any]:
        """What a model says of inputs, as values of JSON."""

    @abstractmethod
    def printed(self, answer: Any) -> Iterator[tuple[str, str]]:
        """An answer as lines, each with the type that colours it."""
