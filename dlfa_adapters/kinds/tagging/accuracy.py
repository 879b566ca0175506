"""Accuracy of tags of single words, for POS, and the score that the XTREME benchmark gives them."""

import warnings
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from seqeval.metrics.sequence_labeling import get_entities

from dlfa_adapters.kinds.metric import (
    TAGS_FEATURES,
    CountedScore,
    Metric,
    accuracy_scores,
    as_counts,
    check_lengths,
    counts_by_label,
    f1,
    macro_f1,
    prf,
    share,
)
from dlfa_adapters.kinds.tagging import Span, Tags


class TokenAccuracy(Metric):
    """The share of words with the right tag, over all words (micro), with precision, recall and F1 of each tag.

    Every gold word counts, X and punctuation too.
    """

    main_score = "accuracy"
    title = "accuracy"
    counts_features = TAGS_FEATURES
    score_of_counts = staticmethod(share)
    citation_text = "Zeman et al. 2018, CoNLL 2018 shared task: multilingual parsing (UPOS on gold words)"

    def _compute(self, predictions: Tags, references: Tags, *, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """Scores tags; gold ones that are none of `labels`, which the model has, count as missed and are named.

        Returns:
            `accuracy` and `macro_f1` (None without words), `support` (words), `per_tag`, `unknown_gold_labels`.
        """
        check_lengths(predictions, references)
        predicted = [tag for tags in predictions for tag in tags]
        gold = [tag for tags in references for tag in tags]
        return accuracy_scores(predicted, gold, labels, "per_tag")

    def item_counts(self, predictions: Tags, references: Tags) -> np.ndarray:
        """Right words and words of each sentence, `(sentences, 2)`."""
        check_lengths(predictions, references)
        rows = [
            (sum(a == b for a, b in zip(tags, gold, strict=True)), len(gold))
            for tags, gold in zip(predictions, references, strict=True)
        ]
        return as_counts(rows, 2)

    def counted_scores(self) -> tuple[CountedScore, ...]:
        """Accuracy and macro-F1."""
        return (*super().counted_scores(), CountedScore("macro_f1", "macro F1", counts_by_label, macro_f1))


class XtremePosF1(Metric):
    """`seqeval.metrics.f1_score` on POS tags, as XTREME does; a compatibility score, not a measure of tagging.

    XTREME (Hu et al. 2020, arXiv 2003.11080) calls it accuracy, but its `evaluate.py` gives POS tags to seqeval, which
    takes them for entity tags: the first letter for the prefix, neighbours with the same tag for one span. Use
    `TokenAccuracy` for everything but a comparison with its tables.

    XTREME installs whichever seqeval is the newest. Versions from 1.0 (October 2020) on read the type of a tag from its
    second letter, so that X at the end of a sentence is no span and CCONJ and SCONJ are one type; 0.0.12, of the time
    of the paper, takes the whole tag. `xtreme_f1` is that of the newer ones, `xtreme_f1_seqeval_0` of the older.
    """

    main_score = "xtreme_f1"
    title = "XTREME F1"
    counts_features = TAGS_FEATURES
    score_of_counts = staticmethod(f1)
    citation_text = "Hu et al. 2020, XTREME, arXiv 2003.11080; google-research/xtreme, evaluate.py"

    def _compute(self, predictions: Tags, references: Tags) -> dict[str, Any]:
        """Scores predicted tags.

        Returns:
            `xtreme_f1` and `xtreme_f1_seqeval_0`, None where there is no span at all.
        """
        check_lengths(predictions, references)
        scores = {}
        for name, old in (("xtreme_f1", False), ("xtreme_f1_seqeval_0", True)):
            correct, predicted, support = _counts(predictions, references, old).sum(axis=0).tolist()
            scores[name] = prf(correct, predicted, support)["f1"]
        return scores

    def item_counts(self, predictions: Tags, references: Tags) -> np.ndarray:
        """Right, predicted and gold spans that end in each sentence, `(sentences, 3)`."""
        check_lengths(predictions, references)
        return _counts(predictions, references, old=False)


def _counts(predictions: Tags, references: Tags, old: bool) -> np.ndarray:
    """Right, predicted and gold spans, each counted for the sentence that it ends in.

    All sentences are searched as one sequence with O between them, as seqeval does: with version 1.x an X can begin a
    span in one sentence that ends in another.
    """
    ends = list(accumulate(len(tags) + 1 for tags in references))
    predicted, gold = _spans(predictions, old), _spans(references, old)
    counts = np.zeros((len(references), 3), dtype=np.int64)
    for column, spans in enumerate((predicted & gold, predicted, gold)):
        for _, _, last in spans:
            counts[bisect_right(ends, last), column] += 1
    return counts


def _spans(sentences: Tags, old: bool) -> set[Span]:
    """Spans as seqeval finds them in POS tags, without its warning for every tag.

    `old`: as 0.0.12 does, first letter and whole tag, which is how 1.x reads `N-NOUN`.
    """
    tags = [[f"{tag[:1]}-{tag.split('-')[-1]}" if old else tag for tag in sentence] for sentence in sentences]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return set(get_entities(tags))
