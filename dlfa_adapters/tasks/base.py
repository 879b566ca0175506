"""What a task is: its kind, its labels in a fixed order, its metric, its languages and its default fuse layer."""

from dataclasses import dataclass
from typing import Literal

TaskKind = Literal["tagging", "classification"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task that this library knows by name.

    Attributes:
        name: The name, as in `model.add_dlfa_head("ner")` and `dlfa train ner`.
        kind: `tagging` (a label a word) or `classification` (a label a text or pair of texts). Also the `head_type`
            of adapters.
        labels: Label names; the position is the label id. Fixed here and saved with every head, never taken from the
            order in which a file happens to list them.
        metric: The main score: `span_f1`, `accuracy`.
        pair: Whether an item is a pair of texts.
        parallel: Whether its data are the same items in every language: those with the same id, or in files without ids
            at the same place, are then translations of each other, and are resampled together.
        fuse_layer_of_12: The best fuse layer of the DLFA paper (Table II, mBERT, 12 layers), or None where the paper
            has no such task.
        languages: The target languages of XTREME (ISO 639-1) for the task, or () where XTREME has no such task.
    """

    name: str
    kind: TaskKind
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
        layer = round((self.fuse_layer_of_12 or 8) * num_layers / 12)
        return min(num_layers - 1, max(1, layer))
