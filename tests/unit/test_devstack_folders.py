"""Where the stack's data lies: never in a place that somebody else prepared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devstack import folders
from devstack.folders import clean, clone_folder, locked
from devstack.programs import DevstackError

for_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root needs a second place"
)


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    nest = tmp_path / "clone" / ".devstack"
    nest.parent.mkdir()
    (tmp_path / "var").mkdir()
    monkeypatch.setattr(folders, "NEST", nest)
    monkeypatch.setattr(folders, "CLONE", nest.parent)
    monkeypatch.setattr(folders, "ROOTS_PARENT", tmp_path / "var")
    return nest.parent


def test_clean_removes_all_that_the_clone_ever_made(
    clone: Path, tmp_path: Path
) -> None:
    (clone_folder() / "data").mkdir()

    clean()

    assert list(clone.iterdir()) == []
    assert list((tmp_path / "var").iterdir()) == []
    assert clean() == []


def test_clean_refuses_while_a_stack_runs() -> None:
    folder = clone_folder()

    with locked(folder), pytest.raises(DevstackError, match="already"):
        clean()

    assert folder.exists()


@for_root
def test_two_clones_of_root_have_two_folders(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = clone_folder()

    monkeypatch.setattr(folders, "CLONE", clone.with_name("other"))

    assert clone_folder() != one


@for_root
def test_symlink_in_the_place_of_roots_folder_is_refused(tmp_path: Path) -> None:
    folder = clone_folder()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DevstackError, match="only root may write"):
        clone_folder()


@for_root
@pytest.mark.parametrize(("uid", "mode"), [(65534, 0o700), (0, 0o777)])
def test_roots_folder_that_others_may_write_is_refused(uid: int, mode: int) -> None:
    folder = clone_folder()
    folder.chmod(mode)
    os.chown(folder, uid, -1)

    with pytest.raises(DevstackError, match="only root may write"):
        clone_folder()
