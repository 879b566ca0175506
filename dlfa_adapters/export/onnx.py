"""From a run to an ONNX file whose logits were compared with PyTorch's."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.export.files import check_extra, check_neighbours, check_place, write_beside
from dlfa_adapters.ground.environment import Progress, versions
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError, is_a_librarys
from dlfa_adapters.ground.folders import draft_beside, remove_drafts
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.kinds.onnx_form import OnnxForm
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.predict.forms import plain_model
from dlfa_adapters.predict.load import head_config, kind_of, load_run
from dlfa_adapters.runs import Run, read_run

OPSET = 17
"""The first operator set with layer normalisation as one operator; onnxruntime knows it since 1.12."""

TOLERANCE = 1e-4
"""How far a logit may be from PyTorch's."""

_REASON = "nothing was written. An encoder that chooses its path by what it reads cannot be exported."


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        file: The ONNX file.
        difference: The largest difference of a logit from PyTorch's that was seen.
        shapes: Batch and length of what was compared.
    """

    file: Path
    difference: float
    shapes: list[tuple[int, int]]


class TensorsOnly(nn.Module):
    """A model as a function of tensors alone: ids and mask (and segments, and what else it reads) in, outputs out.

    Args:
        model: The model.
        form: Its outputs, and inputs besides.
        segments: Whether it reads segments.
    """

    def __init__(self, model: Any, form: OnnxForm, segments: bool) -> None:
        super().__init__()
        self.model, self.form = model, form
        self.inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if segments else []), *form.inputs]

    def logits(self, *tensors: Tensor) -> Any:
        """What the model gives for tensors in the order of `inputs`."""
        return self.model(**dict(zip(self.inputs, tensors, strict=True))).logits

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The outputs."""
        return self.form.reduce(self.logits(*tensors))


def export_onnx(
    run: str | Path | Run,
    out: str | Path,
    *,
    language_adapter: str | Path | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the model of a run as an ONNX file, with all that is needed to use it without PyTorch beside it.

    A LoRA is merged into the encoder; adapters between its layers become part of the graph. Batch and length are free.
    The file is run with onnxruntime on several shapes, and is only there afterwards if the logits are PyTorch's.

    Args:
        run: A run folder.
        out: The file, whose name ends in `.onnx`. What stands beside it is described in `docs/how-to/export.md`.
        language_adapter: See `load_run`: the file is then for this language.
        progress: Called after each step.

    Returns:
        What was written, and how it was checked.

    Raises:
        MissingExtraError: If the extra `onnx` is not installed.
        ConfigError: If `out` is no place for the file, or the run reads the first sentences of documents.
        RunError: See `load_run`; also if the model cannot be traced, or the logits differ by more than 1e-4.
    """
    out, step = Path(out), progress or (lambda stage, done, total: None)
    check_extra()
    check_place(out)
    run = run if isinstance(run, Run) else read_run(run)
    if run.config["windows"].get("first_sentences"):
        raise ConfigError(
            f"The run {run.folder} reads the first sentences of documents, which the package beside an ONNX file "
            "cannot tell apart; export a run that was trained without --first-sentences, or convert this one."
        )
    check_not_centred(run, "it cannot be exported: what it reads depends on a language that the file is not told")
    step("Exporting", 0, 3)
    loaded = load_run(run, language_adapter)
    check_neighbours(out, loaded.tokenizer)
    try:
        model = plain_model(run, loaded)[0]
    except UnsupportedModelError:  # adapters between the layers: the model of adapters itself
        model = loaded.model
    kind, windows = kind_of(run), {"context": 0, "pooling": "first", **run.config["windows"]}
    form = kind_named(kind).onnx_form(head_config(run), run.config["labels"])
    segments = kind_named(kind).takes_pairs and "token_type_ids" in loaded.tokenizer.model_input_names
    graph = TensorsOnly(model.eval(), form, segments).eval()
    pad = loaded.tokenizer.pad_token_id or 0
    batches = list(trial_batches(model.config, windows["max_length"], pad, graph))
    about = {
        "kind": kind,
        "task": run.config["task"],
        "labels": run.config["labels"],
        **windows,
        **form.about,
        "inputs": graph.inputs,
        "opset": OPSET,
        "encoder": run.config["encoder"]["name"],
        "versions": versions(),
    }
    step("Exporting", 1, 3)
    remove_drafts(out)
    with draft_beside(out) as draft:
        trace(graph, batches[0], draft / out.name)
        gather_weights(draft / out.name)
        step("Exporting", 1, 3)
        difference = largest_difference(graph, draft / out.name, batches)
        if not difference <= TOLERANCE:  # NaN too
            raise RunError(
                f"The exported model's logits differ from PyTorch's by {difference:.1e}, more than {TOLERANCE:.0e}; "
                f"{_REASON}"
            )
        write_beside(draft / out.name, loaded.tokenizer, {**about, "difference": difference})
        for path in (path for path in sorted(draft.rglob("*")) if path.is_file()):
            place = out.parent / path.relative_to(draft)
            place.parent.mkdir(exist_ok=True)
            path.replace(place)
    step("Exporting", 1, 3)
    return Exported(out, difference, [(len(batch[0]), batch[0].shape[1]) for batch in batches])


def trial_batches(config: Any, max_length: int, pad: int, graph: TensorsOnly) -> Iterator[tuple[Tensor, ...]]:
    """Inputs to trace with (the first) and to compare on: padding, one token, a whole window, many rows."""
    size = int(getattr(config, "encoder_config", config).vocab_size)
    draw = torch.Generator().manual_seed(0)
    longest, short = max_length, max(2, max_length // 3)
    for lengths in ([short, short - 1], [1], [longest], [longest, 1, short], [3] * 9):
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
        ids = torch.randint(0, size, mask.shape, generator=draw)
        ids = torch.where(mask == 1, torch.where(ids == pad, (pad + 1) % size, ids), pad)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": (torch.arange(ids.shape[1]) > 3) * mask}
        given |= graph.form.draw(mask, draw)
        yield tuple(given[name] for name in graph.inputs)


def trace(graph: TensorsOnly, batch: tuple[Tensor, ...], file: Path) -> None:
    """Write the graph that a batch takes through the model.

    It is PyTorch's older exporter, which follows one call and writes down what it sees: from 2.6 on every release has
    it, and it takes the models of adapters, in whose Python code the newer one breaks off.

    Raises:
        RunError: If there is no ONNX operator for something in the model.
    """
    free = {0: "batch", 1: "length"}
    axes = {**dict.fromkeys(graph.inputs, free), **graph.form.axes()}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of every Python branch on a shape; the comparison tells which matter
            torch.onnx.export(
                graph,
                batch,
                str(file),
                input_names=graph.inputs,
                output_names=list(graph.form.outputs),
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            )
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        raise RunError(f"The model cannot be exported: {str(error).strip().splitlines()[0]}") from error


def gather_weights(file: Path) -> None:
    """Put the weights of a model above 2 GB, which the exporter writes into a file each, into one, `NAME.onnx.data`."""
    others = [path for path in file.parent.iterdir() if path != file]
    if not others:
        return
    import onnx

    model = onnx.load(file)
    for path in others:
        path.unlink()
    onnx.save(model, file, save_as_external_data=True, location=f"{file.name}.data")


@torch.no_grad()
def largest_difference(graph: TensorsOnly, file: Path, batches: list[tuple[Tensor, ...]]) -> float:
    """Run the file and the model on all batches, and compare the logits, those of padding left out.

    Raises:
        RunError: If onnxruntime cannot run the file.
    """
    import onnxruntime

    worst = 0.0
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong comes as an exception, too
        session = onnxruntime.InferenceSession(file, options)
        for batch in batches:
            given = dict(zip(graph.inputs, batch, strict=True))
            found = session.run(list(graph.form.outputs), {name: tensor.numpy() for name, tensor in given.items()})
            apart = graph.form.difference([torch.from_numpy(each) for each in found], graph.logits(*batch), given)
            worst = max(worst, apart)
            if math.isnan(apart):
                return apart
    except Exception as error:  # its errors have no class in common
        if not is_a_librarys(error):
            raise
        first = str(error).strip().splitlines()[0]
        raise RunError(f"The exported model does not run on inputs of another size ({first}); {_REASON}") from error
    return worst
