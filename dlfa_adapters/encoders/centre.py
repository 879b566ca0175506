r"""Languages centred: of every state that a head reads, the mean of the language in that layer is taken off.

$$\tilde{h}^l = h^l - R_L^l$$

for each layer l that the head reads and every language L, the source included, when it learns and whenever it predicts.
$R_L^l$ is the mean of the language in the encoder as it was before training, see `means`. The blocks of the encoder
read their states as they are: what is changed is what it hands out. Not in Liu et al. 2020 (arXiv 2004.09205), whose
shift moves the states of one language, at one layer, in a model that was trained without.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.encoders.states import States
from dlfa_adapters.ground.errors import ConfigError, RunError

CENTER = "center.safetensors"
"""The means in the folder of a run that was trained on centred languages."""


@dataclass(frozen=True)
class CentredStates(States):
    """States of windows in one language or several, each without the mean of its language.

    Attributes:
        raw: The states as they are; cached ones stay so.
        offsets: The means, (languages, layers, width), where states are handed out.
        language_of: For each window the number of its language.
    """

    raw: States
    offsets: Tensor
    language_of: Tensor

    @property
    def layers(self) -> tuple[int, ...]:  # type: ignore[override]
        """See `States`."""
        return self.raw.layers

    @property
    def num_layers(self) -> int:  # type: ignore[override]
        """See `States`."""
        return self.raw.num_layers

    @property
    def device(self) -> torch.device:
        """See `States`."""
        return self.raw.device

    @property
    def width(self) -> int:
        """See `States`."""
        return self.raw.width

    def lengths(self) -> list[int]:
        """See `States`."""
        return self.raw.lengths()

    def tokens_of(self, indices: Sequence[int]) -> Tensor:
        """See `States`."""
        chosen = torch.tensor(indices)
        lengths = torch.tensor(self._lengths)[chosen]
        languages = self.language_of[chosen].repeat_interleave(lengths).to(self.device)
        return self.raw.tokens_of(indices) - self.offsets[languages]


@dataclass(frozen=True)
class Centring:
    """The means that are taken off, in some layers.

    Attributes:
        means: Of the encoder before training.
        layers: The layers that heads read; L is `last_hidden_state`.
        speaking: Gives the language of what is read where no `reading` says so; None: it is not known.
    """

    means: LanguageMeans
    layers: tuple[int, ...]
    speaking: Callable[[], str | None] = lambda: None
    _reading: threading.local = field(default_factory=threading.local, init=False, repr=False, compare=False)

    def states(self, raw: States, languages: Sequence[str]) -> States:
        """Centred states of windows, of all layers that there are.

        Args:
            raw: The states.
            languages: The language of each window.

        Raises:
            ConfigError: If one has no mean.
        """
        names = list(dict.fromkeys(languages))
        offsets = torch.stack([self.means.of(name)[list(raw.layers)] for name in names]) if names else torch.empty(0)
        numbers = torch.tensor([names.index(name) for name in languages], dtype=torch.long)
        return CentredStates(raw, offsets.to(raw.device), numbers)

    @contextmanager
    def reading(self, languages: str | Sequence[str]) -> Iterator[None]:
        """Within it, what this thread reads is in one language, or a row of a batch in one each.

        Raises:
            ConfigError: If one has no mean.
        """
        several = [languages] if isinstance(languages, str) else list(languages)
        by_name = {name: self.means.of(name)[list(self.layers)] for name in dict.fromkeys(several)}
        offsets = torch.stack([by_name[name] for name in several])  # (1 or rows, layers, width)
        before = self._now
        self._reading.now = offsets
        try:
            yield
        finally:
            self._reading.now = before

    @property
    def _now(self) -> Tensor | None:
        return getattr(self._reading, "now", None)

    def of_head(self, layers: Iterable[int]) -> "Centring":
        """The same for a head that reads some layers."""
        return replace(self, layers=tuple(sorted(set(layers))))

    def line(self) -> str:
        """For the screen."""
        return (
            f"Centred: all languages, in layers {', '.join(map(str, self.layers))}, by the means in {self.means.path}"
        )

    def save(self, folder: Path) -> None:
        """Write the means into a run folder that is being made."""
        self.means.save(folder / CENTER)

    def describe(self) -> dict[str, Any]:
        """For `run.json`, under `center`."""
        about = {"layers": list(self.layers), "languages": list(self.means.tensors), "fingerprint": self.means.digest}
        return {"means": str(self.means.path), **about}

    def install(self, model: Any) -> Any:
        """Let the encoder of a model hand out centred states, in `layers`, of what is said to be `reading`.

        Args:
            model: See `encoder_of`.

        Returns:
            What takes it out again, by `remove()`.
        """
        return encoder_of(model).register_forward_hook(self._centre)

    @contextmanager
    def installed(self, model: Any) -> Iterator[None]:
        """The same for as long as a context lasts."""
        handle = self.install(model)
        try:
            yield
        finally:
            handle.remove()

    def _centre(self, encoder: Any, _inputs: Any, output: Any) -> Any:
        """What the encoder hands out.

        Raises:
            ConfigError: If nothing says in which language it reads.
            RunError: If it runs in a thread of `nn.DataParallel`, or gives a tuple.
        """
        if getattr(encoder, "_is_replica", False):
            raise RunError("Centred languages do not reach the threads of nn.DataParallel; use one GPU, or torchrun.")
        offsets = self._now
        if offsets is None and (language := self.speaking()) is not None:
            offsets = self.means.of(language)[None, list(self.layers)]
        if offsets is None:
            raise ConfigError(
                "This model was trained on centred languages, so it must be told the language of what it reads; type "
                'e.g. --language de, in Python tagger.language = "de".'
            )
        if isinstance(output, tuple):
            raise RunError("Centred languages need the encoder's output by name; leave return_dict=False out.")
        last = output.last_hidden_state
        offsets = offsets.to(last).unsqueeze(2)  # (1 or rows, layers, 1, width)
        hidden = list(output.hidden_states) if output.get("hidden_states") is not None else None
        for number, layer in enumerate(self.layers):
            if layer == encoder.config.num_hidden_layers:
                output["last_hidden_state"] = last - offsets[:, number]
            elif hidden is not None:
                hidden[layer] = hidden[layer] - offsets[:, number]
        if hidden is not None:
            hidden[-1] = output.last_hidden_state if hidden[-1] is last else hidden[-1]
            output["hidden_states"] = tuple(hidden)
        return output
