"""What an ensemble starts from: the pretrained encoder, and for each member the head that `train` would begin with."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from dlfa_adapters.learning.ensemble.batches import HasRow
from dlfa_adapters.learning.ensemble.ensemble import Ensemble
from dlfa_adapters.learning.ensemble.vocabulary import Vocabulary
from dlfa_adapters.learning.frozen.stacked import FusionClassifier, HeadSpec
from dlfa_adapters.tasks import Task


def start_ensemble(
    model: Any, specs: Sequence[HeadSpec], task: Task, rows: Iterable[HasRow], padding: int, device: torch.device
) -> Ensemble:
    """An ensemble before its first step.

    Args:
        model: The pretrained model of adapters, on the CPU; heads are added to it and taken off again.
        specs: The head of each member, with the seed of its first weights.
        task: The task, with the labels of the heads.
        rows: All training data.
        padding: What batches are padded with.
        device: Where the ensemble shall be.
    """
    words = model.base_model.embeddings.word_embeddings
    pieces = {piece for row in rows for piece in row.input_ids}
    paddings = {padding} if words.padding_idx is None else {padding, words.padding_idx}
    vocabulary = Vocabulary(words.weight, pieces, paddings).to(device)
    heads, dropout = zip(*(_first_head(model, spec, task) for spec in specs), strict=True)
    return Ensemble(model, specs, heads, vocabulary, dropout=dropout[0])


def _first_head(model: Any, spec: HeadSpec, task: Task) -> tuple[FusionClassifier, float]:
    """The head that `train` begins with for this seed, and the dropout before its classifier."""
    name = "first-weights"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        model.add_dlfa_head(
            name,
            fuse_layer=spec.fuse_layer or None,
            head_type=task.kind,
            id2label=task.id2label,
            layers=1,
            fusion=spec.fusion,
            **spec.options(),
        )
        built = model.heads[name]
        dropout, linear = built.inner[-2], built.inner[-1]
        head = FusionClassifier(spec, model.config.hidden_size, model.config.num_hidden_layers, len(task.labels))
        head.fusion.load_state_dict(built.fusion.state_dict())
        head.classifier.load_state_dict(linear.state_dict())
        model.delete_head(name)
    return head, float(dropout.p)
