"""Files take their name when they are on disk, and not before."""

import os

import pytest

from gassst.files import destination
from gassst.files.destination import Destination


@pytest.mark.parametrize("was_there", [False, True])
def test_a_file_is_on_disk_before_it_takes_its_name(tmp_path, monkeypatch, was_there):
    """Else a machine that fails could leave an empty file under the name, in place of what was there."""
    path, done = tmp_path / "out.sam", []
    if was_there:
        path.write_bytes(b"before")
    sync, replace = destination.sync, os.replace
    monkeypatch.setattr(destination, "sync", lambda name: (done.append(("sync", name)), sync(name)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append(("rename", *names)), replace(*names)))
    target = Destination(str(path))
    with os.fdopen(target.open(), "wb") as file:
        file.write(b"after")
    working = target.working
    target.commit()
    assert done == [("sync", working), ("rename", working, str(path)), ("sync", str(tmp_path))]
    assert path.read_bytes() == b"after" and os.listdir(tmp_path) == ["out.sam"]
