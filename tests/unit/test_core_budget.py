"""What the core holds is counted from the sources: scripts/check/core_budget.py."""

from __future__ import annotations

import core_budget
import pytest


def counted(path: str, text: str) -> list[tuple[str, str]]:
    return [(number.where, number.text) for number in core_budget.numbers(path, text)]


def test_the_core_holds_no_more_than_its_page_allows():
    """A mechanism, a number or a line more pays with one that goes: scripts/check/core_budget.py --write."""
    most = core_budget.allowed(core_budget.PAGE.read_text())
    totals = core_budget.counted().totals
    assert totals.keys() == most.keys()
    assert all(totals[name] <= most[name] for name in most), (totals, most)
    assert core_budget.lost_mechanisms() == []


def test_what_a_mapping_run_imports_and_includes_is_core():
    core = core_budget.core_files()
    inside = {"gassst/local/align.py", "gassst/index/spectrum.py", "gassst/model/params.py", "index/lookup.h"}
    inside |= {"gassst/gpu/kernels/band.h", "gassst/gpu/kernels/local.h", "gassst/_core/seeds.pxd"}
    inside |= {"ext/isa/bands_avx512.c", "ext/search/filters.h", "ext/pairing/pair_stages.pxi"}
    outside = {
        "gassst/cli/map.py",
        "gassst/records/writer.py",
        "gassst/gpu/search.py",
        "gassst/index/file.py",
    }
    outside |= {
        "ext/io/pack.h",
        "ext/pairwise/lanes.h",
        "ext/pairwise/lanes_kernels.c",
        "gassst/index/build_parts.py",
    }
    assert core.keys() >= inside and core.keys().isdisjoint(outside)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("FAR = 30", [("FAR", "30")]),
        ("EXTRA = 2", [("EXTRA", "2")]),
        ("EMPTY = 0", []),
        ("A, B = 1.5, 1 << 20", [("A", "1.5")]),
        ("LEVELS = (1, 5, 2)", [("LEVELS", "5")]),
        ("class P:\n    x: int = option(1, '-x', 'help', between(0, 99))", [("P.x", "1")]),
        ("def f(x=5):\n    return 0.3 * x[7] + (x & 12) + 2 + 0x55", [("f", "5"), ("f", "0.3")]),
        ("@cache(maxsize=99)\ndef f():\n    '''The 77 of it.'''  # 88\n    return 'a99'", []),
        ("def f(x):\n    return x.reshape(-1, 64) + 1e-9", [("f", "1e-9")]),
    ],
)
def test_numbers_of_python(code, found):
    assert counted("gassst/search/a.py", code) == found


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("a.h", "#define FAR 30 /* of 40 */", [("FAR", "30")]),
        ("a.h", "#define FAR(x) (x + 64 + 5)", [("FAR", "5")]),
        ("a.h", "enum { ONE = 1, FAR = 32, NONE = 0 }; // 9", [("ONE", "1"), ("FAR", "32")]),
        ("a.h", "int f(int x)\n{\n    return x < 77 ? x >> 5 : a[9] & 13;\n}", [("f", "77")]),
        ("a.pyx", "cdef enum:\n    FAR = 9  # of 11\n", [("FAR", "9")]),
        (
            "a.pyx",
            'cdef int f(int x) noexcept nogil:\n    """The 12."""\n    return x * 5 + 64',
            [("f", "5")],
        ),
        ("a.pyx", 'cdef extern from *:\n    """\n    #define FAR 30\n    """\n', [("FAR", "30")]),
    ],
)
def test_numbers_of_cython_and_c(name, code, found):
    assert counted(f"ext/search/{name}", code) == found
