"""A full disk: one sentence with the place and the room that is needed, no half files, and what was there stays."""

import errno
import os
from contextlib import contextmanager

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from dlfa_adapters.ground import files
from dlfa_adapters.ground.errors import DLFAError
from dlfa_adapters.ground.files import DiskFullError, is_full, write_text, write_whole, writing
from dlfa_adapters.ground.folders import draft_beside, put_in_place
from dlfa_adapters.ground.tensors import save_tensors

resource = pytest.importorskip("resource", reason="limits of file sizes are POSIX's")


@contextmanager
def no_more_than(size):
    """Files cannot grow beyond this size: writing fails as on a full disk, in whichever library."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


TENSORS = {"a": torch.zeros(50_000)}
WRITERS = {
    "text": lambda path: path.write_text("a" * 200_000, "utf-8"),
    "torch": lambda path: torch.save(TENSORS, path),
    "tokenizer": lambda path: Tokenizer(WordLevel({f"w{i}": i for i in range(20_000)}, "w0")).save(str(path)),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_is_one_sentence_and_the_file_before_stays(writer, tmp_path):
    path = tmp_path / "file"
    path.write_text("before", "utf-8")
    with no_more_than(50_000), pytest.raises(DiskFullError) as caught, write_whole(path) as draft:
        WRITERS[writer](draft)
    assert isinstance(caught.value, DLFAError)
    text = str(caught.value)
    assert text.startswith(f"{path} cannot be written, the disk is full: ")
    assert "make room and call the same again" in text
    assert "\n" not in text
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text("utf-8") == "before"


def test_what_is_needed_is_said(tmp_path):
    with no_more_than(50_000):
        with pytest.raises(DiskFullError, match=r"full: it needs 200 kB, there were \d"):
            save_tensors(tmp_path / "a", TENSORS, {})
        with pytest.raises(DiskFullError, match=r"full: it needs more than 50 kB, there were \d"):
            write_folder(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_the_room_that_there_was_counts_what_had_been_written(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "free_disk", lambda folder: 1_000)
    with (
        pytest.raises(DiskFullError, match="it needs more than 5 kB, there were 6 kB;"),
        writing(tmp_path / "run", written=lambda: 5_000),
    ):
        raise OSError(errno.ENOSPC, "full")
    with (
        pytest.raises(DiskFullError, match="it needs 8 kB, there were 1 kB;"),
        writing(tmp_path / "run", needs=8_000, written=lambda: 5_000),
    ):
        raise OSError(errno.ENOSPC, "full")


def write_folder(folder, size=200_000):
    with draft_beside(folder) as draft:
        (draft / "record").write_text("a" * size, "utf-8")
        put_in_place(draft, folder, "record", lambda earlier: lambda name: True)


def test_an_earlier_folder_stays(tmp_path):
    write_folder(tmp_path / "run", 10)
    with no_more_than(50_000), pytest.raises(DiskFullError, match=f"{tmp_path / 'run'} cannot be written"):
        write_folder(tmp_path / "run")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "record").read_text("utf-8") == "a" * 10


def test_text_that_a_user_asked_for(tmp_path):
    (tmp_path / "real.md").write_text("before", "utf-8")
    (tmp_path / "link.md").symlink_to("real.md")
    with no_more_than(50_000), pytest.raises(DiskFullError, match=r"real\.md cannot be written"):
        write_text(tmp_path / "link.md", "a" * 100_000)
    assert (tmp_path / "real.md").read_text("utf-8") == "before"
    write_text(tmp_path / "link.md", "after")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text("utf-8") == "after"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.md", "real.md"]
    reading, writing_end = os.pipe()
    write_text(f"/dev/fd/{writing_end}", "into a pipe")
    assert os.read(reading, 100) == b"into a pipe"


def test_other_errors_are_left_alone(tmp_path):
    assert not is_full(PermissionError(13, "Permission denied"))
    assert not is_full(ValueError("no"))
    with pytest.raises(ValueError, match="no"), writing(tmp_path):
        raise ValueError("no")


def test_a_training_on_a_full_disk_goes_on_when_there_is_room(tiny_folder, tmp_path):
    from dlfa_adapters.learning import resume_training, train

    data = tmp_path / "train-en.tsv"
    data.write_text("Anna\tB-PER\nmet\tO\n\nRome\tB-LOC\n\nBob\tB-PER\nfell\tO\n\nin\tO\nOslo\tB-LOC\n", "utf-8")
    options = {"train_data": data, "dev_data": data, "model": str(tiny_folder), "batch_size": 2, "epochs": 2}
    for tuning, name in (("lora", "checkpoint-2"), ("features", "epoch.safetensors")):
        out = tmp_path / tuning
        with no_more_than(4_000), pytest.raises(DiskFullError) as caught:
            train("names", tuning=tuning, out=out, **options)
        text = str(caught.value)
        assert text.startswith(f"{out}.training/"), text
        assert name in text or "states" in text, text
        assert not out.exists()
        assert not list((tmp_path / f"{tuning}.training").glob("checkpoint-*"))
        assert resume_training(out).config["task"] == "names"
        assert not (tmp_path / f"{tuning}.training").exists()
