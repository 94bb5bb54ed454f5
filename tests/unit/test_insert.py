"""Template lengths: what is learned from pairs, and what outliers and too few pairs do to it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gassst.errors import InputError
from gassst.model.layouts import HIT
from gassst.model.params import LONGEST_TEMPLATE, ORIENTATIONS
from gassst.pairing.insert_size import ENOUGH_PAIRS, MIN_SD, InsertModel, learned_insert
from gassst.runs.libraries import pair_sample


@pytest.mark.parametrize("mean, sd", [(180, 15), (350, 50), (550, 90), (3000, 400)])
@pytest.mark.parametrize("share", [0, 0.05, 0.2])
def test_outliers_do_not_move_what_is_learned(mean, sd, share):
    rng = np.random.default_rng(mean)
    templates = rng.normal(mean, sd, 4000).astype(np.int64)
    strange = rng.random(4000) < share
    templates[strange] = rng.integers(1, LONGEST_TEMPLATE, strange.sum())
    model = InsertModel.learned("fr", templates)
    assert abs(model.mean - mean) < 0.1 * sd + 1
    assert 0.9 * sd < model.sd < 1.35 * sd
    assert max(1, mean - 8 * sd) <= model.low <= mean - 3 * sd
    assert mean + 3 * sd <= model.high <= mean + 8 * sd
    assert model.pairs == 4000


@pytest.mark.parametrize("n", [1, 2, 3, 7, 32, 501])
def test_mean_and_deviation_are_those_of_lengths_near_the_quartiles(n):
    sizes = np.random.default_rng(n).normal(300, 60, n).astype(np.int64)
    model = InsertModel.learned("fr", sizes)
    q1 = np.percentile(sizes, 100 * (n // 4) / max(n - 1, 1), method="nearest")
    q3 = np.percentile(sizes, 100 * (n - 1 - n // 4) / max(n - 1, 1), method="nearest")
    spread = max(q3 - q1, 1)
    core = sizes[(sizes >= q1 - 2 * spread) & (sizes <= q3 + 2 * spread)]
    assert (model.mean, model.sd) == pytest.approx((core.mean(), max(core.std(), MIN_SD)))
    assert (model.low, model.high) == (
        max(1, np.floor(model.mean - 4 * model.sd)), np.ceil(model.mean + 4 * model.sd)
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, ENOUGH_PAIRS - 1])
def test_too_few_pairs_teach_nothing(n):
    none = np.empty(0, np.int64)
    model = learned_insert(["rf"], [(np.full(n, 7000), none, none)])
    assert model == InsertModel.assumed("rf")
    assert model.pairs == 0
    assert model.low == 1
    assert model.high == 1050


@pytest.mark.parametrize(
    "mean, sd, low, high", [(300, 30, 180, 420), (100, 50, 1, 300), (300, 0.1, 292, 308)]
)
def test_a_given_size_is_proper_within_four_deviations(mean, sd, low, high):
    model = InsertModel.given("fr", mean, sd)
    assert (model.low, model.high, model.pairs) == (low, high, 0)


def placed(orientation: str, first_reverse: bool, at: int, template: int, lengths: tuple[int, int]):
    """(position, strand) of both mates of a template at `at`, by the definition of the orientations."""
    first_leads = {"fr": not first_reverse, "rf": first_reverse, "ff": not first_reverse}[orientation]
    last_reverse = first_reverse if orientation == "ff" else not first_reverse
    mates = [(first_reverse, lengths[0]), (last_reverse, lengths[1])]
    left, right = mates if first_leads else mates[::-1]
    spots = (at, left[0]), (at + template - right[1], right[0])
    return spots if first_leads else spots[::-1]


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_good_pairs_teach_and_no_others(orientation):
    rng = np.random.default_rng(9)
    starts = np.array([2048, 102_560], np.int64)
    hits, lengths, expected, first = [], [], [], []
    taught, alone = [], []  # mismatches and aligned bases of the mates of confident reads, and of single ones
    for i in range(300):
        if i % 7 == 0:  # a single read between the pairs
            hits.append((len(lengths), 5000, len(lengths), 1, i % 5, 0, 18 + i % 4, 0))
            alone += [(i % 5, 100)] if i % 4 >= 2 else []
            lengths.append(100)
        m = tuple(int(x) for x in rng.integers(30, 151, 2))
        # Mates that overlap are taken to face each other.
        template = int(rng.integers(sum(m) if orientation == "rf" else max(m), 900))
        spots = placed(orientation, bool(rng.integers(2)), int(rng.integers(3000, 90_000)), template, m)
        flags, quality, fault = [0, 0], [60, 20], i % 6
        spots = [list(s) for s in spots]
        if fault == 1:
            flags[i % 2] = 0x4
        elif fault == 2:
            quality[i // 6 % 2] = 19
        elif fault == 3:
            spots[i // 6 % 2][1] ^= 1
        elif fault == 4:
            left, right = sorted(spots)
            right[0] += 102_000 + 2000 - left[0]  # on the other contig, and not far
            left[0] = 102_000
        else:
            expected.append(template)
        first.append(len(lengths))
        errors = rng.integers(0, 9, 2).tolist()
        taught += [(errors[j], m[j], j) for j in range(2) if fault in (0, 2, 5) and quality[1 - j] >= 20]
        for j in range(2):
            row = len(lengths)
            flag = flags[j] | 0x10 * spots[j][1]
            hits.append((row, spots[j][0], row, 1, errors[j], flag, quality[j], spots[j][1]))
            if rng.random() < 0.3:  # a secondary hit behind the primary one
                hits.append((row, 77_777, 0, 0, 0, 0x100, 60, 0))
            lengths.append(m[j])
    rows = np.zeros(len(hits), HIT)
    names = ("read", "position", "cigar_start", "cigar_runs", "edits", "flag", "mapq", "strand")
    for name, column in zip(names, zip(*hits, strict=True), strict=True):
        rows[name] = column
    mate = np.zeros(len(lengths), np.uint8)
    mate[first], mate[np.array(first) + 1] = 1, 2
    got = pair_sample(orientation, mate, rows, np.array(lengths, np.uint32) << 4, starts)
    assert got.templates.tolist() == expected
    in_order = alone + [t[:2] for t in sorted(taught, key=lambda t: t[2])]
    assert list(zip(got.mismatches.tolist(), got.aligned.tolist(), strict=True)) == in_order


def test_gap_bases_are_no_mismatches():
    hits = np.zeros(2, HIT)
    hits["read"], hits["position"], hits["mapq"] = (0, 1), (3000, 3200), 60
    hits["strand"], hits["edits"] = (0, 1), (5, 4)
    hits["cigar_start"], hits["cigar_runs"] = (0, 4), (4, 3)
    operations = [(20, 4), (30, 0), (3, 1), (47, 0), (50, 0), (2, 2), (50, 0)]  # 20S30M3I47M, 50M2D50M
    cigars = np.array([length << 4 | operation for length, operation in operations], np.uint32)
    got = pair_sample("fr", np.array([1, 2]), hits, cigars, np.array([2048]))
    assert got.templates.tolist() == [302]
    assert got.mismatches.tolist() == [2, 2]
    assert got.aligned.tolist() == [77, 102]


# --- models in files --------------------------------------------------------------------------------------------

CHANGES = {
    ("orientation",): ["", "fx", None, 1, ["fr"]],
    ("mean",): [-1, 1e308, float("nan"), float("inf"), "300", None, True, LONGEST_TEMPLATE + 1],
    ("sd",): [0, 1e-300, 1e308, float("nan"), None],
    ("low",): [-1, 1.5, 1e308, 10**400, None],
    ("high",): [1, 1e308, 10**400, 443.5, float("inf")],
    ("pairs",): [-1, 1e308, 10**400, None],
    ("errors",): [None, [], {}, {"rate": 0.1}],
    ("errors", "elsewhere"): [-0.1, 1.1, float("nan"), "0.1"],
    ("errors", "rate"): [0, 1, 1e-300, 5e-324, 1 - 1e-16, float("nan"), "0.1"],
    ("errors", "bases"): [0, 1e-300, 1e308, float("nan"), -1],
    ("errors", "damage"): [[0], [0.1, 0.1], [0.1] * 4, [1e308] * 5, [5e-324] * 5, ["x"] * 5, 5, [2] * 5],
    ("also",): [1, [], {}, "itself"],
    ("more",): [1],
}


@pytest.mark.parametrize(
    "keys, value", [(keys, value) for keys, values in CHANGES.items() for value in values], ids=str
)
def test_a_file_says_what_a_library_can_be(tmp_path, keys, value):
    path = tmp_path / "model.json"
    model = InsertModel("fr", 298.5, 30.5, 156, 443, 500)
    model.write(path)
    assert InsertModel.read(path) == model
    content = json.loads(path.read_text())
    holder = content["insert"]
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = json.loads(path.read_text())["insert"] if value == "itself" else value
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="not a model of insert sizes"):
        InsertModel.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000, '{"insert":' * 200_000, '{"insert": {"also": ' * 20_000,
        '{"x": "' + "x" * (1 << 21) + '", "insert": {}}', "", "\ufeff{}", "[1]", "1" * 10_000,
    ],
    ids=range(8),
)  # fmt: skip
def test_a_file_that_is_no_model(tmp_path, text):
    (tmp_path / "model.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not a model of insert sizes"):
        InsertModel.read(tmp_path / "model.json")


def test_a_model_in_a_file_has_each_orientation_once(tmp_path):
    path = tmp_path / "model.json"
    also = InsertModel("ff", 300.0, 30.0, 1, 500)
    model = replace(
        InsertModel("rf", 298.5, 30.5, 156, 443), also=replace(InsertModel.assumed("fr"), also=also)
    )
    model.write(path)
    assert InsertModel.read(path) == model
    replace(model, also=replace(also, also=model)).write(path)
    with pytest.raises(InputError):
        InsertModel.read(path)


def test_far_templates_are_learned_as_they_are():
    """As those of a second orientation may be, in a genome of one contig. No template of so many bases is proper."""
    model = InsertModel.learned("rf", list(range(1_300_000, 1_300_400)))
    assert (model.pairs, model.mean) == (400, 1_300_199.5) and model.high <= 20_000
