"""Tagging: a tag for each word, each right or wrong by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.readers.base import Notes, Sentence
from dlfa_adapters.data.readers.columns import read_columns, write_columns
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.of_words import KindOfWords
from dlfa_adapters.tasks import Task, is_span_task, tagging_task
from dlfa_adapters.tasks.span_tags import to_learn

if TYPE_CHECKING:
    from dlfa_adapters.kinds.tagging.tagger import Tagger, Words


class Tagging(KindOfWords):
    """A tag for each word, each right or wrong by itself."""

    # What each name means: `Kind`; `KindOfData` for item, of_words, unit and format; `KindOfHead` from pipeline on.
    name, metric = "tagging", "accuracy"
    described, units, texts, verb = "words with tags", ("sentences", "words"), "sentences", "Tagging"
    shown_as = "The model's tag is under each word; at ✗ the gold tag is below it."
    item, of_words, unit, format = Sentence, True, "sentences", "columns"
    metrics_in_words = MappingProxyType({"span_f1": "span F1"})
    ids_beside, suffix = True, ".tsv"
    pipeline, peft_task = "token-classification", "TOKEN_CLS"
    auto_class, plain_class = "AutoModelForTokenClassification", "DLFAForTokenClassification"
    head_types, plain_heads = ("tagging",), MappingProxyType({"tagging": None})
    head_options = MappingProxyType({"layers": 1})

    def metrics_of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Spans can be counted where all tags are of spans."""
        return ("accuracy", "span_f1") if is_span_task(labels) else ("accuracy",)

    def make_task(self, name: str, labels: Iterable[str], metric: str | None = None, *, pair: bool = False) -> Task:
        """See `tasks.tagging_task`."""
        return tagging_task(name, labels, metric)

    def label_notes(self, task: Task) -> Iterator[str]:
        """`PER` beside `O`: entities that are written as classes of words."""
        tags = [label for label in task.labels if label != "O"]
        if "O" in task.labels and not any(label[:2] in ("B-", "I-") for label in tags):
            named = ", ".join(tags[:5]) + (f" and {len(tags) - 5} more" if len(tags) > 5 else "")
            yield (
                f"The tags {named} have no B- or I- before them, so words are scored one by one and entities are "
                f"not; write B-{tags[0]} for the first word of an entity and I-{tags[0]} for those that follow."
            )

    def features(self) -> Any:
        """Words and their tags."""
        from datasets import Features, List, Value

        return Features({"words": List(Value("string")), "tags": List(Value("string"))})

    def usable(
        self, rows: list[tuple[str, Any]], task: Task | None, split: str, notes: Notes
    ) -> tuple[list[tuple[str, Any]], Counter[str]]:
        """All of them, if they have tags."""
        if any(item.tags is None for _, item in rows):
            hint = (
                " (XTREME withholds the tags of its test files); use split='dev', or read the words with "
                "dlfa_adapters.data.readers.read_words"
                if split == "test"
                else "; it stands behind the word, with a TAB between them"
            )
            raise DataError(f"{notes.path}: expected a tag for every word, but there are words only{hint}")
        return rows, Counter(tag for _, item in rows for tag in item.tags or ())

    def columns(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """Words and their tags."""
        return {"words": [item.words for item in items], "tags": [item.tags for item in items]}

    def to_learn(self, counts: Mapping[str, int]) -> tuple[list[str], str]:
        """See `tasks.span_tags.to_learn`."""
        return to_learn(counts)

    def inputs(self, columns: Mapping[str, Any]) -> list[Any]:
        """The words of each sentence."""
        return list(columns["words"])

    def gold(self, columns: Mapping[str, Any]) -> list[Any]:
        """The tags of each sentence."""
        return list(columns["tags"])

    def is_empty(self, input: Any) -> bool:
        """A sentence without words."""
        return not input

    def labels_of(self, answers: Sequence[Any], labels: Sequence[str] | None = None) -> list[str]:
        """The tags of all sentences."""
        return [tag for tags in answers for tag in tags]

    def encode(self, tokenizer: Any, inputs: Sequence[Any], labels: Sequence[str], **cut: Any) -> "Words":
        """See `tagger.Words`."""
        from dlfa_adapters.kinds.tagging.tagger import Words

        return Words(tokenizer, inputs, labels, **cut)

    def predictor(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        windows: Mapping[str, Any],
        pair: bool | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Tagger":
        """See `tagger.Tagger`."""
        from dlfa_adapters.kinds.tagging.tagger import Tagger

        return Tagger(model, tokenizer, labels, **windows)

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Words that have a label; a stock tagging head leaves masked positions out."""
        from dlfa_adapters.data.batching import IGNORED

        counted = labels != IGNORED
        return (counted if mask is None else counted & (mask == 1)).sum()

    def usage(self, name: str) -> str:
        """See `Kind`."""
        return f'tagger = pipeline("{self.pipeline}", model="{name}", aggregation_strategy="simple")'

    def metrics(self, task: Task) -> tuple[Any, ...]:
        """Accuracy; of parts of speech also the score that XTREME gives."""
        from dlfa_adapters.kinds.tagging.accuracy import TokenAccuracy, XtremePosF1

        return (TokenAccuracy(), XtremePosF1()) if task.name == "pos" else (TokenAccuracy(),)

    def write_predictions(self, path: Path, predicted: Any) -> None:
        """Word, gold tag and predicted tag: the columns that conlleval takes."""
        rows = zip(predicted.ids, predicted.inputs, predicted.gold, predicted.predicted, strict=True)
        sentences = [
            Sentence(words, tags, name, columns=[list(row) for row in zip(words, gold, tags, strict=True)])
            for name, words, gold, tags in rows
        ]
        write_columns(path, sentences)

    def read_predictions(self, path: Path, ids: list[str] | None) -> dict[str, Any]:
        """What `write_predictions` wrote; ids stand in another file."""
        sentences = read_columns(path, word_column=0, tag_column=2, scheme="IOB2").items
        columns = [list(zip(*(item.columns or []), strict=True)) for item in sentences]
        return {
            "ids": [item.id for item in sentences] if ids is None else ids,
            "inputs": [list(words) for words, _, _ in columns],
            "gold": [list(gold) for _, gold, _ in columns],
            "placeholder": [False] * len(sentences),
            "predicted": [list(predicted) for _, _, predicted in columns],
        }

    def is_telling(self, input: Any, gold: Any, predicted: Any) -> bool:
        """Whether a sentence is short enough to be shown uncut, and has something besides `O` in it."""
        from dlfa_adapters.kinds.shown import MOST_WORDS

        return len(input) <= MOST_WORDS and set(gold) | set(predicted) != {"O"}

    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> Any:
        """See `tagger.tag_line`."""
        from dlfa_adapters.kinds.tagging.tagger import tag_line

        return [tag_line(input, gold, predicted, language)]

    def read_lines(self, texts: Sequence[str], language: str | None, pair: bool | None) -> list[Any]:
        """Words of running text."""
        from dlfa_adapters.data.words import split_words

        return [split_words(line, language) for line in texts]

    def answers(self, predictor: Any, texts: Sequence[str], inputs: Sequence[Any], on_progress: Any) -> list[Any]:
        """See `tagger.answer`."""
        from dlfa_adapters.kinds.tagging.tagger import answer

        tags = predictor.predict(inputs, on_progress=on_progress)
        return [answer(*row, self.shows_support) for row in zip(texts, inputs, tags, strict=True)]

    def printed(self, answer: Any) -> Iterator[tuple[str, str]]:
        """Columns that the readers take: word, TAB, tag, and an empty line after each text."""
        for word, tag in zip(answer["words"], answer["tags"], strict=True):
            yield f"{word}\t{tag}", tag[2:]
        yield "", ""
