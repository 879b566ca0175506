"""The model of a run, ready to predict much: on the GPU where there is one, in 16 bits or compiled on request."""

from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.fusion import MaskedBatchNorm
from dlfa_adapters.ground.errors import ConfigError, UnsupportedModelError
from dlfa_adapters.kinds.predictor import Predictor
from dlfa_adapters.predict.load import PRECISIONS, check_precision, load_run
from dlfa_adapters.predict.plain import plain_model
from dlfa_adapters.runs import Run, read_run


def load_fast(
    run: str | Path | Run,
    language_adapter: str | Path | None = None,
    *,
    precision: str = "fp32",
    compile: bool = False,
) -> Predictor:
    """Load the model of a run as `load_run` does, on the GPU where there is one.

    Args:
        run: A run folder.
        language_adapter: See `load_run`.
        precision: `fp32`; or `bf16`: bfloat16 but for the batch norm of the fusion. It takes half the memory; about two
            labels in a thousand come out different.
        compile: Use `torch.compile`: the first batches take a minute, all others less time.

    Returns:
        A tagger or a classifier.

    Raises:
        RunError: See `load_run`.
        ConfigError: If there is no such precision, or the model cannot be compiled.
    """
    check_precision(precision)
    run = run if isinstance(run, Run) else read_run(run)
    predictor = load_run(run, language_adapter)
    if compile:
        predictor.model = _plain(run, predictor)
    if precision != "fp32":
        cast(predictor.model, getattr(torch, PRECISIONS[precision]))
    if torch.cuda.is_available():
        predictor.model.to("cuda")
    if compile:
        predictor.model = torch.compile(predictor.model, dynamic=True)
    return predictor


def cast(model: Any, dtype: torch.dtype) -> None:
    """Keep the weights in another precision; scale and shift of a batch norm stay as they are."""
    norms = [module for module in model.modules() if isinstance(module, MaskedBatchNorm)]
    kept = {id(parameter) for norm in norms for parameter in norm.parameters()}
    for parameter in model.parameters():
        if id(parameter) not in kept:
            parameter.data = parameter.data.to(dtype)


def _plain(run: Run, predictor: Predictor) -> Any:
    """The plain model of a run: what adapters adds around every layer cannot be compiled as a whole."""
    try:
        return plain_model(run, predictor)[0]
    except UnsupportedModelError as error:
        raise ConfigError(f"--compile needs a model that is an encoder and a head alone; {error}") from error
