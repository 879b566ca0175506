"""The 4-bit file format, on a small file made here byte by byte from its description."""

import struct

import numpy as np
import pytest

from dlfa_adapters.encoders.e5_file import E5File
from dlfa_adapters.ground.errors import DataError

WIDTH, INNER, VOCAB, POSITIONS, TYPES = 32, 64, 4, 6, 2
PIECES = ["<s>", "<pad>", "▁é", "東"]


def pack_q4(scales, quants):
    """Blocks of 32 weights: f16 scale, 16 bytes whose low halves are weights 0..15 and high halves 16..31."""
    out = b""
    for scale, block in zip(scales, quants, strict=True):
        out += struct.pack("<e", scale) + bytes(block[j] | block[j + 16] << 4 for j in range(16))
    return out


def make_file():
    """A file with one block of layers; returns its bytes and the values that every tensor must have."""
    rng = np.random.default_rng(0)
    shapes = {"emb.word": (VOCAB, WIDTH), "emb.pos": (POSITIONS, WIDTH), "emb.type": (TYPES, WIDTH)}
    shapes |= {"emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}
    for part, shape in {
        "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH), "aln": (WIDTH,),
        "fi": (INNER, WIDTH), "fo": (WIDTH, INNER), "oln": (WIDTH,),
    }.items():  # fmt: skip
        shapes |= {f"l0.{part}.w": shape, f"l0.{part}.b": (shape[0],)}
    values, blobs, kinds = {}, {}, {}
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        quantised = len(shape) == 2 and name not in ("emb.pos", "emb.type")
        kinds[name] = int(quantised)
        if quantised:
            scales = rng.choice([0.5, 0.25, -2.0, 0.125], count // 32)
            quants = rng.integers(0, 16, (count // 32, 32))
            blobs[name] = pack_q4(scales, quants.tolist())
            values[name] = ((quants - 8) * scales[:, None]).astype(np.float32).reshape(shape)
        else:
            values[name] = rng.normal(size=shape).astype(np.float32)
            blobs[name] = values[name].tobytes()
    head = struct.pack("<4sI7ifi", b"E5S1", 1, WIDTH, 1, 2, INNER, VOCAB, POSITIONS, TYPES, 1e-12, 32)
    text = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, text)]).astype("<u4")
    head += struct.pack("<5iQ", len(PIECES), 0, 0, 1, 3, int(ends[-1]))
    head += ends.tobytes() + np.array([0, 0, -1.5, -2.5], "<f4").tobytes() + b"".join(text)
    table = struct.pack("<IBI", 0xC9, 1, 0xE9)
    head += struct.pack("<iI", 1, len(table)) + table
    directory_size = 4 + sum(2 + len(name) + 21 for name in shapes)
    at = -(-(len(head) + directory_size) // 64) * 64
    directory, body = struct.pack("<i", len(shapes)), b""
    for name, blob in blobs.items():
        body += bytes(-(len(body)) % 64)
        count = int(np.prod(shapes[name]))
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kinds[name], count, at + len(body), len(blob))
        body += blob
    data = head + directory
    return data + bytes(at - len(data)) + body, values


def test_reads_sizes_pieces_and_every_weight():
    data, values = make_file()
    file = E5File(data)
    assert file.config == {
        "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": INNER,
        "vocab_size": VOCAB, "max_position_embeddings": POSITIONS, "type_vocab_size": TYPES, "layer_norm_eps": 1e-12,
    }  # fmt: skip
    assert file.pieces == PIECES
    assert file.scores.tolist() == [0, 0, -1.5, -2.5]
    assert file.special == {"bos": 0, "eos": 0, "pad": 1, "unk": 3}
    state = file.state_dict()
    assert len(state) == len(values)
    np.testing.assert_array_equal(state["embeddings.word_embeddings.weight"], values["emb.word"])
    np.testing.assert_array_equal(state["encoder.layer.0.output.dense.weight"], values["l0.fo.w"])
    np.testing.assert_array_equal(state["encoder.layer.0.attention.self.value.bias"], values["l0.v.b"])
    np.testing.assert_array_equal(state["encoder.layer.0.output.LayerNorm.weight"], values["l0.oln.w"])


@pytest.mark.parametrize("keep", [0, 3, 40, 90, 400, 5000])
def test_a_cut_file_is_one_clear_error(keep):
    data, _ = make_file()
    with pytest.raises(DataError, match="E5S1"):
        E5File(data[:keep])


def test_other_bytes_behind_it_are_an_error():
    data, _ = make_file()
    with pytest.raises(DataError, match="ends at byte"):
        E5File(data + b"x")


def test_a_tensor_of_another_size_is_an_error():
    data, _ = make_file()
    with pytest.raises(DataError, match=r"emb\.word of shape \(5, 32\)"):
        E5File(data).tensor("emb.word", 5, WIDTH)
