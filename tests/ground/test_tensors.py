"""A file of tensors is the one that was written, or it is damaged."""

import pytest
import torch

from dlfa_adapters.ground.tensors import DamagedError, read_tensors, save_tensors


def test_what_was_written_comes_back(tmp_path):
    tensors = {"a": torch.arange(8.0).reshape(2, 4), "b": torch.tensor([True]), "none": torch.zeros(0, 3)}
    save_tensors(tmp_path / "file", tensors, {"epoch": 3})
    found, about = read_tensors(tmp_path / "file")
    assert about == {"epoch": 3}
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"shape":[2,4]', b'"shape":[4,2]'),
        (b'"dtype":"F32"', b'"dtype":"I32"'),
        (b'"a":{', b'"A":{'),
        (rb"{\"epoch\": 3}", rb"{\"epoch\": 4}"),
        (b"\0\0\x80?", b"\0\0\0@"),
    ],
)
def test_whatever_is_changed_in_it_is_found(before, after, tmp_path):
    """Also where it is still a file of safetensors: shape, kind of number, name, what is said of it, a number."""
    save_tensors(tmp_path / "file", {"a": torch.arange(8.0).reshape(2, 4)}, {"epoch": 3})
    content = (tmp_path / "file").read_bytes()
    assert content.count(before) == 1
    (tmp_path / "file").write_bytes(content.replace(before, after))
    with pytest.raises(DamagedError, match="is damaged: it is not the file that was written"):
        read_tensors(tmp_path / "file")
