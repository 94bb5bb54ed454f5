"""What is asked of the allocator, and of C libraries that know no such request."""

from types import SimpleNamespace

import pytest

from gassst.workers import allocator


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_glibc_keeps_what_is_freed(monkeypatch, platform):
    asked = {}
    monkeypatch.setattr(allocator.sys, "platform", platform)
    monkeypatch.setattr(
        allocator.ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=lambda *given: asked.update([given]))
    )
    allocator.keep_freed_memory()
    # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h
    assert asked == ({-3: 32 << 20, -1: 2**31 - 1} if platform == "linux" else {})


def test_another_c_library_is_left_alone(monkeypatch):
    """musl has no such function."""
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: SimpleNamespace())
    allocator.keep_freed_memory()
