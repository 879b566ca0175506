"""Attachment scores: the share of words with the right head, and with the right relation to it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf

from dlfa_adapters.kinds.metric import (
    CountedScore,
    Metric,
    as_counts,
    check_lengths,
    ratio,
    share,
    table,
    warn_unknown,
)
from dlfa_adapters.kinds.parsing.tree import Arc, cut_subtype, same_relation

Trees = Sequence[Sequence[Arc]]
"""Of each sentence."""

Same = Callable[[Arc, Arc], bool]
"""Whether the first, predicted arc is right."""

NO_WORDS = frozenset({"PUNCT", "SYM"})
"""Parts of speech that some papers leave out."""


class AttachmentScore(Metric):
    """UAS and LAS, over all words: the share with the right head, and of those with the right relation as well.

    Subtypes are cut (`nsubj:pass` is right for `nsubj`), as the CoNLL 2018 evaluation does. `uas_nopunct` and
    `las_nopunct` leave out words whose gold part of speech is PUNCT or SYM, as Wu and Dredze 2019 (arXiv 1904.09077)
    do; a word without one cannot be told, and is left out there, too.

    Args:
        subtypes: Whether to compare whole relations too, as `las_subtypes`.
    """

    main_score = "las"
    title = "LAS"
    counts_features = Features({side: ListOf(ListOf(Value("string"))) for side in ("predictions", "references")})
    score_of_counts = staticmethod(share)
    citation_text = (
        "Zeman et al. 2018, CoNLL 2018 shared task: multilingual parsing (LAS on gold words); "
        "Wu and Dredze 2019, Beto, Bentz, Becas, arXiv 1904.09077 (without PUNCT and SYM)"
    )

    def __init__(self, subtypes: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.subtypes = subtypes

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Take a sentence; see `evaluate.Metric`."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Take some sentences; see `evaluate.Metric`."""
        predicted, gold = ([[list(map(str, arc)) for arc in arcs] for arcs in x] for x in (predictions, references))
        super().add_batch(predictions=predicted, references=gold, **kwargs)

    def _compute(self, predictions: Trees, references: Trees, *, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """Scores trees; gold relations that are none of `labels`, which the model has, count as missed and are named.

        Returns:
            `las`, `uas`, `las_nopunct`, `uas_nopunct` (None without words), with subtypes `las_subtypes`; `support` and
            `support_nopunct` (words), `without_upos` (words of no part of speech), `per_relation` (a word is right if
            head and relation are), `unknown_gold_labels`.
        """
        check_lengths(predictions, references)
        predicted = [Arc(int(head), deprel) for arcs in predictions for head, deprel, _ in arcs]
        gold = [Arc(int(head), deprel, upos) for arcs in references for head, deprel, upos in arcs]
        kept = labels is not None and any(":" in label for label in labels)
        unknown = warn_unknown((arc.deprel if kept else cut_subtype(arc.deprel) for arc in gold), labels)
        totals = {score.name: score.counts([predicted], [gold]).sum(axis=0).tolist() for score in self.counted_scores()}
        right = [cut_subtype(b.deprel) for a, b in zip(predicted, gold, strict=True) if same_relation(a, b)]
        relations = ([cut_subtype(arc.deprel) for arc in arcs] for arcs in (predicted, gold))
        return {
            **{name: ratio(*counts) for name, counts in totals.items()},
            "support": len(gold),
            "support_nopunct": totals["las_nopunct"][1],
            "without_upos": sum(not _has_upos(arc) for arc in gold),
            "per_relation": table(right, *relations),
            "unknown_gold_labels": unknown,
        }

    def item_counts(self, predictions: Trees, references: Trees) -> np.ndarray:
        """Words with the right head and relation, and words, of each sentence, `(sentences, 2)`."""
        return attachment_counts(predictions, references, same_relation)

    def counted_scores(self) -> tuple[CountedScore, ...]:
        """LAS and UAS, both without PUNCT and SYM, and LAS with subtypes where they are kept."""
        scores = [
            ("uas", "UAS", _same_head, False),
            ("las_nopunct", "LAS without PUNCT, SYM", same_relation, True),
            ("uas_nopunct", "UAS without PUNCT, SYM", _same_head, True),
        ]
        if self.subtypes:
            scores.append(("las_subtypes", "LAS with subtypes", _same_subtype, False))
        counted = (
            CountedScore(name, title, partial(attachment_counts, same=same, nopunct=nopunct), share)
            for name, title, same, nopunct in scores
        )
        return (*super().counted_scores(), *counted)


def attachment_counts(predictions: Trees, references: Trees, same: Same, nopunct: bool = False) -> np.ndarray:
    """Right words and words of each sentence; `nopunct`: of words whose gold part of speech is no PUNCT or SYM.

    Returns:
        `(sentences, 2)`.
    """
    check_lengths(predictions, references)
    rows = []
    for arcs, gold_arcs in zip(predictions, references, strict=True):
        pairs = [(a, b) for a, b in zip(arcs, gold_arcs, strict=True) if not nopunct or _is_word(b)]
        rows.append((sum(same(a, b) for a, b in pairs), len(pairs)))
    return as_counts(rows, 2)


def _same_head(predicted: Arc, gold: Arc) -> bool:
    return predicted.head == gold.head


def _same_subtype(predicted: Arc, gold: Arc) -> bool:
    return predicted[:2] == gold[:2]


def _has_upos(gold: Arc) -> bool:
    return gold.upos not in ("", "_")


def _is_word(gold: Arc) -> bool:
    return _has_upos(gold) and gold.upos not in NO_WORDS
