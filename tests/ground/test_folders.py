"""What may be deleted: our own files in folders that are marked; links are never followed."""

import os
import signal
from pathlib import Path

import pytest

from dlfa_adapters.ground import folders
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import remove_drafts_of, write_whole
from dlfa_adapters.ground.folders import (
    MARKER,
    bring_back,
    draft_beside,
    is_empty,
    is_marked,
    mark,
    others,
    put_in_place,
    remove,
    remove_drafts,
)


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, "utf-8")


def tree(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def test_a_marker_says_what_a_folder_is(tmp_path):
    mark(tmp_path / "a", "a sweep")
    assert is_marked(tmp_path / "a", "a sweep")
    assert not is_marked(tmp_path / "a", "a training")
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)
    assert not is_marked(tmp_path / "link", "a sweep")
    write(tmp_path, f"b/{MARKER}")
    assert not is_marked(tmp_path / "b", "a sweep")
    assert is_empty(tmp_path / "nothing")
    assert not is_empty(tmp_path / "a")


def test_only_ours_is_deleted(tmp_path):
    folder = tmp_path / "work"
    mark(folder, "x")
    write(folder, "ours", "deep/er/ours", "deep/user.txt", "record")
    write(tmp_path, "outside/ours")
    (folder / "linked").symlink_to(tmp_path / "outside", target_is_directory=True)
    (folder / "deep" / "ours").symlink_to(tmp_path / "outside" / "ours")
    ours = lambda name: name == "record" or name.endswith("ours")  # noqa: E731
    assert remove(folder, ours, "record") == ["deep/ours", "deep/user.txt", "linked"]
    assert tree(folder) == ["deep/ours", "deep/user.txt", "linked", MARKER]
    assert tree(tmp_path / "outside") == ["ours"]
    assert is_marked(folder, "x")  # so that it is known again
    (folder / "linked").unlink()
    (folder / "deep" / "ours").unlink()
    (folder / "deep" / "user.txt").rename(folder / ".DS_Store")
    assert remove(folder, ours) == []
    assert not folder.exists()


def test_a_link_to_a_folder_is_not_emptied(tmp_path):
    write(tmp_path, "outside/ours")
    (tmp_path / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert remove(tmp_path / "link", lambda name: True) == []
    assert tree(tmp_path / "outside") == ["ours"]


def test_what_a_folder_is_known_by_goes_last(tmp_path, monkeypatch):
    """So that one whose deletion is cut short is still known."""
    gone, unlink = [], Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **options: gone.append(path.name) or unlink(path, **options))
    mark(tmp_path / "work", "x")
    gone.clear()
    write(tmp_path / "work", "a", "record", "z")
    assert remove(tmp_path / "work", lambda name: True, "record") == []
    assert gone == ["a", "z", "record", MARKER]


def test_a_folder_that_is_to_be_emptied_stays_itself(tmp_path):
    write(tmp_path / "work", "deep/ours", "ours")
    assert remove(tmp_path / "work", lambda name: True, empty_it=True) == []
    assert list((tmp_path / "work").iterdir()) == []


def test_a_link_in_the_place_of_an_earlier_folder_is_not_brought_back(tmp_path):
    write(tmp_path, "outside/record")
    (tmp_path / ".run.dlfa-draft-earlier").symlink_to(tmp_path / "outside", target_is_directory=True)
    bring_back(tmp_path / "run", "record", lambda earlier: lambda name: True)
    assert sorted(os.listdir(tmp_path)) == [".run.dlfa-draft-earlier", "outside"]
    assert tree(tmp_path / "outside") == ["record"]


def replace(folder, *names):
    with draft_beside(folder) as draft:
        write(draft, "record", *names)
        put_in_place(draft, folder, "record", lambda earlier: lambda name: name != "notes.txt")


def test_what_is_not_ours_in_a_replaced_folder_is_kept_beside_it(tmp_path, caplog):
    replace(tmp_path / "run", "old")
    write(tmp_path / "run", "notes.txt")
    replace(tmp_path / "run", "new")
    assert tree(tmp_path) == ["run-earlier-1/notes.txt", "run/new", "run/record"]
    assert "what else was in it is kept in" in caplog.text


def test_a_link_is_not_replaced(tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "target", target_is_directory=True)
    (tmp_path / "target").mkdir()
    with pytest.raises(ConfigError, match=r"run is a symbolic link; give the folder itself, .*target"):
        replace(tmp_path / "run", "new")
    assert tree(tmp_path) == ["run"]


@pytest.mark.skipif(os.name == "nt", reason="fork")
@pytest.mark.parametrize("rename", [1, 2, 3])
def test_killed_between_the_renames(rename, tmp_path):
    """Before the first one, between the two, and after the second: there is always a whole folder at the next use."""
    replace(tmp_path / "run", "old")
    child = os.fork()
    if child == 0:
        calls, real = [], folders.Path.rename

        def die_at(path, target):
            calls.append(path)
            if len(calls) == rename:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(path, target)

        try:
            folders.Path.rename = die_at
            folders.remove = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)
            replace(tmp_path / "run", "new")
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (tmp_path / "run").exists() == (rename != 2)
    bring_back(tmp_path / "run", "record", lambda earlier: lambda name: True)
    remove_drafts(tmp_path / "run")
    assert tree(tmp_path) == ["run/" + ("new" if rename == 3 else "old"), "run/record"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_drafts_of_killed_processes_go_and_nothing_that_looks_alike(tmp_path):
    lives = os.getppid()
    stay = [".run-settings", ".run-12345678", ".run-notes.dlfa-draft", f".run-{lives}-abcdefgh.dlfa-draft", ".run-77"]
    for name in (*stay, ".run-999999999-abcdefgh.dlfa-draft"):
        write(tmp_path, f"{name}/file")
    write(tmp_path, ".run-999999999.dlfa-draft", f".run-{lives}.dlfa-draft", ".run-2024")
    remove_drafts(tmp_path / "run")
    remove_drafts_of(tmp_path / "run")
    assert sorted(os.listdir(tmp_path)) == sorted([*stay, f".run-{lives}.dlfa-draft", ".run-2024"])


def test_a_file_is_whole_or_the_one_before(tmp_path):
    with write_whole(tmp_path / "a[1]") as draft:
        draft.write_text("one", "utf-8")
    with pytest.raises(ZeroDivisionError), write_whole(tmp_path / "a[1]") as draft:
        draft.write_text(f"two {1 / 0}", "utf-8")
    assert (tmp_path / "a[1]").read_text("utf-8") == "one"
    assert others(tmp_path, lambda name: False) == ["a[1]"]
