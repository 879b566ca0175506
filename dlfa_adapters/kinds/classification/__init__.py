"""Classification: a label for each text or pair of texts."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.readers.base import Example, Notes
from dlfa_adapters.data.readers.labelled_text import LABEL_SPELLINGS
from dlfa_adapters.data.readers.lines import read_lines, write_lines
from dlfa_adapters.data.sentences import cut_documents
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.base import Kind
from dlfa_adapters.tasks import MARC, SENTIMENT, XNLI, Task, classification_task, get_task

if TYPE_CHECKING:
    from dlfa_adapters.kinds.classification.classifier import Classifier, Texts

_ID_NAMES = {"topic": "index_id", "xnli": "pairID"}  # what the data set of a task calls its ids
_IN_FILES = ("id", "language", "text", "text_pair", "label", "gold", "placeholder")
_SEVERAL, _CHOICE = "multilabel_classification", "multiple_choice"


class Classification(Kind):
    """A label for each text or pair of texts."""

    name, metric, takes_pairs = "classification", "accuracy", True
    described, units, texts, verb = "texts with labels", ("items",), "texts", "Labelling"
    item, of_words, unit, format = Example, False, "examples", "labelled"
    shares_gold, suffix = True, ".jsonl"
    pipeline, peft_task = "text-classification", "SEQ_CLS"
    auto_class, plain_class = "AutoModelForSequenceClassification", "DLFAForSequenceClassification"
    classifier_layers, pools_states = 2, True
    head_types, head_options = ("classification", _SEVERAL, _CHOICE), MappingProxyType({"layers": 1})
    plain_heads = MappingProxyType(
        {"classification": "single_label_classification", _SEVERAL: "multi_label_classification"}
    )

    def make_task(self, name: str, labels: Iterable[str], metric: str | None = None, *, pair: bool = False) -> Task:
        """See `tasks.classification_task`."""
        return classification_task(name, labels, pair)

    def record(self, task: Task) -> dict[str, Any]:
        """Whether an item is a pair."""
        return {"pair": task.pair}

    def features(self) -> Any:
        """Text, second text or None, and label; `placeholder` marks pairs that are none (PAWS-X)."""
        from datasets import Features, Value

        texts = dict.fromkeys(("text", "text_pair", "label"), Value("string"))
        return Features({**texts, "placeholder": Value("bool")})

    def usable(
        self, rows: list[tuple[str, Any]], task: Task | None, split: str, notes: Notes
    ) -> tuple[list[tuple[str, Any]], Counter[str]]:
        """Without pairs that are none in `train`; labels are given the task's spelling."""
        labelled = []
        for language, item in rows:
            if split == "train" and item.flaw is not None:
                notes.drop(item.flaw)
            elif item.label is None:
                hint = (
                    " (XTREME withholds the labels of its test files); use split='dev'"
                    if split == "test"
                    else "; it stands behind the text, with a TAB between them"
                )
                raise DataError(f"{notes.path}: expected a label for every example, but {item.id!r} has none{hint}")
            else:
                labelled.append((language, item))
        _respell([item for _, item in labelled], task, notes)
        return labelled, Counter(item.label for _, item in labelled)

    def columns(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """See `features`."""
        values = {name: [getattr(item, name) for item in items] for name in ("text", "text_pair", "label")}
        return {**values, "placeholder": [item.flaw is not None for item in items]}

    def inputs(self, columns: Mapping[str, Any]) -> list[Any]:
        """Text, and second text or None."""
        return list(zip(columns["text"], columns["text_pair"], strict=True))

    def gold(self, columns: Mapping[str, Any]) -> list[Any]:
        """The label of each."""
        return list(columns["label"])

    def are_pairs(self, inputs: Sequence[Any]) -> bool:
        """Whether some have a second text."""
        return any(second is not None for _, second in inputs)

    def sizes(self, answers: Sequence[Any]) -> list[int]:
        """A label an item."""
        return [1] * len(answers)

    def labels_of(self, answers: Sequence[Any], labels: Sequence[str] | None = None) -> list[str]:
        """The labels as they are."""
        return list(answers)

    def check_fit(self, languages: Sequence[Any], task: Task, source: str) -> None:
        """Refuse single texts where pairs are expected, and the other way round."""
        pairs = {second is not None for items in languages for _, second in items.inputs}
        if len(pairs) == 2:
            raise DataError(f"{source}: expected only pairs or only single texts, but there are both")
        if get_task(task.name) is not None and pairs != {task.pair}:
            expected, came = ("pairs of texts", "single texts") if task.pair else ("single texts", "pairs of texts")
            raise DataError(f"{source}: expected {expected} for {task.name}, but these are {came}")

    def encode(
        self,
        tokenizer: Any,
        inputs: Sequence[Any],
        labels: Sequence[str],
        *,
        max_length: int = 128,
        first_sentences: int | None = None,
        languages: Sequence[str] = (),
        **others: Any,
    ) -> "Texts":
        """See `classifier.Texts`; a text is a row, so there is no context and nothing to pool."""
        from dlfa_adapters.kinds.classification.classifier import Texts, columns_of

        cut = cut_documents(*columns_of(inputs), first_sentences, languages)
        return Texts(tokenizer, *cut, labels, max_length)

    def predictor(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        windows: Mapping[str, Any],
        pair: bool | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Classifier":
        """See `classifier.Classifier`."""
        from dlfa_adapters.kinds.classification.classifier import Classifier

        sentences = windows.get("first_sentences")
        return Classifier(
            model, tokenizer, labels, max_length=windows["max_length"], pair=pair, first_sentences=sentences
        )

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Items with a label; every 0 and 1 of several labels, and every number of a regression."""
        import torch

        from dlfa_adapters.data.batching import IGNORED

        if head_type == _SEVERAL or (num_labels == 1 and head_type != _CHOICE):
            return labels.new_tensor(labels.numel(), dtype=torch.long)
        return (labels != IGNORED).sum()

    def usage(self, name: str) -> str:
        """See `Kind`."""
        return f'classifier = pipeline("{self.pipeline}", model="{name}")'

    def metrics(self, task: Task) -> tuple[Any, ...]:
        """Accuracy and macro-F1."""
        from dlfa_adapters.kinds.classification.accuracy import ClassificationAccuracy

        return (ClassificationAccuracy(),)

    def count_notes(self, total: Counter[str]) -> Iterator[str]:
        """Items, and what was cut off."""
        yield f"{total['items']:,} items were scored."
        if total["n_truncated"]:
            yield (
                f"{total['n_truncated']:,} items are longer than the model was set to take: "
                f"{total['pieces_dropped']:,} of {total['pieces_total']:,} pieces were cut off."
            )

    def id_name(self, task: Task) -> str:
        """As the data set of the task has it."""
        return _ID_NAMES.get(task.name, "id")

    def write_predictions(self, path: Path, predicted: Any) -> None:
        """An item a line, as JSON."""
        columns = predicted.ids, predicted.inputs, predicted.predicted, predicted.gold, predicted.placeholder
        rows = (
            dict(zip(_IN_FILES, (id_, predicted.language, *texts, *rest), strict=True))
            for id_, texts, *rest in zip(*columns, strict=True)
        )
        write_lines(path, [json.dumps(row, ensure_ascii=False) for row in rows])

    def read_predictions(self, path: Path, ids: list[str] | None) -> dict[str, Any]:
        """What `write_predictions` wrote."""
        rows = [json.loads(line) for line in read_lines(path, Notes(path))]
        names = {"ids": "id", "gold": "gold", "placeholder": "placeholder", "predicted": "label"}
        columns = {column: [row[name] for row in rows] for column, name in names.items()}
        return {**columns, "inputs": [(row["text"], row["text_pair"]) for row in rows]}

    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> Any:
        """One or two texts."""
        from dlfa_adapters.kinds.shown import text_line

        return [text_line(text) for text in input if text is not None]

    def labels_beside(self, gold: Any, predicted: Any) -> tuple[str, str]:
        """Both labels."""
        return gold, predicted

    def read_lines(self, texts: Sequence[str], language: str | None, pair: bool | None) -> list[Any]:
        """Texts, or pairs with a TAB between the two."""
        from dlfa_adapters.data.pairs import split_pairs

        first, second = split_pairs(texts, pair)
        return list(zip(first, [None] * len(first) if second is None else second, strict=True))

    def answers(self, predictor: Any, texts: Sequence[str], inputs: Sequence[Any], on_progress: Any) -> list[Any]:
        """The most probable label of each text or pair, and the probability of every label."""
        from dlfa_adapters.kinds.classification.classifier import columns_of

        firsts, seconds = columns_of(inputs)
        scores = predictor.probabilities(firsts, seconds, on_progress=on_progress)
        rows = []
        for i, (best, probabilities) in enumerate(zip(scores.argmax(-1).tolist(), scores.tolist(), strict=True)):
            label = predictor.labels[best]
            by_label = dict(zip(predictor.labels, (round(p, 6) for p in probabilities), strict=True))
            pair = {} if seconds is None else {"text_pair": seconds[i]}
            said = {"label": label, "probability": by_label[label], "probabilities": by_label}
            rows.append({"text": firsts[i], **pair, **said})
        return rows

    def printed(self, answer: Any) -> Iterator[tuple[str, str]]:
        """A label and its probability."""
        yield f"{answer['label']}\t{answer['probability']:.3f}", ""


def _respell(items: Sequence[Any], task: Task | None, notes: Notes) -> None:
    """Give labels the task's spelling where a published data set is known to have another."""
    spellings: dict[str, str] = {}
    if task is not None and task.name == XNLI.name:
        spellings = LABEL_SPELLINGS
    elif task is not None and task.name == SENTIMENT.name and {item.label for item in items} == {"0", "1", "2"}:
        spellings = dict(zip("012", SENTIMENT.labels, strict=True))
        notes.warn(None, "spelling", f"{notes.path}: the labels 0, 1, 2 are read as {', '.join(SENTIMENT.labels)}")
    elif task is not None and task.name == MARC.name and "0" in (there := {item.label for item in items}):
        if there <= set("01234"):
            spellings = dict(zip("01234", MARC.labels, strict=True))
            notes.warn(None, "spelling", f"{notes.path}: the labels 0 to 4 are read as 1 to 5 stars")
    for item in items:
        item.label = spellings.get(item.label, item.label)
