"""Plants one small fault at a time in a copy of the tree and says whether the tests catch it.

A test suite is as good as the faults it finds. Each mutation below changes a few characters of a source and names the
test that must fail. The script exits with 1 if a fault survives. It exits with 2 if it cannot judge: an anchor is gone,
the mutant does not build, or a test fails without any fault.

    python scripts/check/mutations.py            # all of them, about fifteen minutes on two cores
    python scripts/check/mutations.py -k fd      # those with "fd" in their name
    python scripts/check/mutations.py --list
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from same_records import take_checkout

ROOT = Path(__file__).resolve().parents[2]
TESTS_FAILED = 1  # exit status of pytest

FILTERS_H, PLANES_H = "ext/search/filters.h", "gassst/gpu/kernels/planes.h"
THESIS_H = "ext/thesis/thesis_filters.h"
BOUND_BAND = "ext/isa/bound_band.h"
READ_SEARCH = "ext/search/read_search.pyx"
CIGAR_H, CONTIGS_H = "ext/common/cigar.h", "ext/common/contigs.h"
SEEDS, MAPQ = "index/seeds.pyx", "ext/search/mapq.pxi"
SELECTION, STAGES = "ext/search/selection.pxi", "ext/search/stages.pyx"
KNOWLEDGE = "gassst/gpu/kernels/knowledge.h"
LOCAL_ALIGNER, TEST_UNGAPPED = "ext/align/local_aligner.pxi", "tests/unit/test_ungapped.py"
LOCAL_START, LOCAL_TYPES = "gassst/gpu/kernels/local_start.h", "gassst/gpu/kernels/local_types.h"
LOCAL_PARTS = "ext/align/local_parts.pxi"
LOCAL_REPORT = "tests/unit/test_local_report.py"
PAIR_SCORING = "ext/pairing/pair_scoring.pxi"
PAIR_STAGES, PLAIN_PAIRS = "ext/pairing/pair_stages.pxi", "tests/property/test_pair_stages.py"
PLAIN_READS = "tests/property/test_stages.py"
JOINT, JOINT_PLACES = "ext/pairing/joint.pxi", "tests/unit/test_joint_places.py"
BUILDER, MATES, FIELDS = "ext/io/record_builder.pxi", "ext/io/record_mates.pxi", "ext/io/bam_fields.h"
RECORD_ENDS, SORTING = "ext/io/record_ends.h", "ext/io/record_sorting.pxi"
DUPLICATES, DUPLICATES_PY = "ext/io/duplicates.pyx", "gassst/records/duplicates.py"
SORTING_PY, FILE_RUN = "gassst/records/sorting.py", "gassst/runs/file_run.py"

LOSSLESS = "tests/property/test_filters.py::test_no_filter_rejects_an_alignment_within_the_limit"
MANY_PLACES = "tests/property/test_filters.py::test_narrow_bands_at_many_places_of_one_read"
PAIR_QUALITY = "tests/unit/test_pair_quality.py"
TANDEM, TEST_TANDEM = "ext/search/tandem.pxi", "tests/unit/test_tandem.py"
MAPQ_INPUTS = "tests/property/test_mapq_inputs.py"
NARROW_BANDS = "tests/property/test_narrow_bands.py"
RECURSION = "tests/property/test_filters.py::test_tiled_score_is_the_recursion"
COUNTING = "tests/property/test_filters.py::test_frequency_distance_is_counting"
WHOLE_TILE = "tests/property/test_filters.py::test_a_gap_of_a_whole_tile_costs_its_bases"
SURVIVOR = "tests/property/test_filters.py::test_every_seed_has_a_survivor_that_stands_for_it"
DUPLICATE_TESTS = "tests/property/test_duplicates.py::"
AS_SAMTOOLS = f"{DUPLICATE_TESTS}test_duplicates_are_those_of_samtools"


class Mutation(NamedTuple):
    """`old`, which occurs once in `path`, becomes `new`; then `test` must fail."""

    name: str
    path: str
    old: str
    new: str
    test: str


MUTATIONS = [
    # The filters: bounds, limits, rounding, mirrored flanks, seams of tiles, masked bases.
    Mutation("tnw4-4: an alignment at the limit is rejected", THESIS_H,
        "right * job->scores[after] <= site->limit", "right * job->scores[after] < site->limit", LOSSLESS),
    Mutation("tnw4-4: the left flank is not mirrored", THESIS_H,
        "before = mirror4(pack4(a.left.low >> 12, a.left.high >> 12)) << 8",
        "before = pack4(a.left.low >> 12, a.left.high >> 12) << 8", RECURSION),
    Mutation("tnw4-4: a flank of three bases counts as four", THESIS_H,
        "left = site->offset >= 4,", "left = site->offset >= 3,", LOSSLESS),
    Mutation("fd: one base too many on the left", THESIS_H,
        "0xFFFF & ~(0xFFFFu >> left)", "0xFFFF & ~(0x7FFFu >> left)", COUNTING),
    Mutation("fd: bases without a partner are rounded up", THESIS_H,
        "return (int)((surplus & ((positive << 15) - positive)) * ones >> 48);",
        "return (int)(((surplus & ((positive << 15) - positive)) * ones >> 48) + 1) & ~1;", COUNTING),
    Mutation("fd: an alignment at the limit is rejected", THESIS_H,
        "frequency_distance(a.right, b.right, after) <=", "frequency_distance(a.right, b.right, after) <", LOSSLESS),
    Mutation("tnw4-16: a shift costs nothing where tiles meet", THESIS_H,
        "larger(done + s, score)", "score", RECURSION),
    Mutation("tnw4-16: the longest shift is left out", THESIS_H,
        "gaps = smaller(gaps, at);", "gaps = smaller(gaps, at - 1);", WHOLE_TILE),
    Mutation("tnw4-16: a partial tile counts as a whole one", THESIS_H,
        "levels = smaller(left.n, right.n) / l;", "levels = (smaller(left.n, right.n) + 1) / l;", RECURSION),
    Mutation("tnw4-16: an alignment at the limit is rejected", THESIS_H,
        "advance(&right, job, l) > limit", "advance(&right, job, l) >= limit", LOSSLESS),
    Mutation("tnw5-full: the eighth shift is left out", THESIS_H,
        "s <= BLOCK; s++", "s < BLOCK; s++", RECURSION),
    Mutation("tnw5-full: the left flank of the reference is not mirrored", THESIS_H,
        "walk->mirrored ? mirror32(plain) : plain", "plain", RECURSION),
    Mutation("tnw: the score table forgets the last row", THESIS_H,
        "i < l; i++)\n            bottom", "i < l - 1; i++)\n            bottom",
        "tests/property/test_filters.py::test_score_table_is_textbook_dp"),
    Mutation("duplicate: a masked base of the reference equals A", PLANES_H,
        "(b.masked & ~b.high)", "(b.masked & b.high)", SURVIVOR),
    Mutation("duplicate: a seed that only begins in the run goes with it", THESIS_H,
        "site.end <= run", "site.offset <= run",
        "tests/property/test_filters.py::test_a_seed_that_is_no_exact_match_stays_as_it_is"),
    Mutation("duplicate: the run begins one base early", THESIS_H,
        "until - __builtin_clzll(difference)", "until - __builtin_clzll(difference) - 1",
        "tests/property/test_filters.py::test_seeds_of_one_run_are_one_grown_to_the_run"),
    # The vector kernels of the filters.
    Mutation("band32: an alignment at the limit is rejected", FILTERS_H,
        "errors[next] <= sites[next].limit", "errors[next] < sites[next].limit", LOSSLESS),
    Mutation("band32: trusted although one gap leaves the band", FILTERS_H,
        "(int)s.limit) <= BAND_REACH", "(int)s.limit) <= BAND_LEAD",
        "tests/property/test_filters.py::test_one_long_gap_passes"),
    Mutation("band32: the second half of the window comes in late", BOUND_BAND,
        "(word) << (32 - (r))", "(word) << (31 - (r))",
        "tests/property/test_filters.py::test_narrow_band_is_textbook_dp"),
    Mutation("band32: rows behind the end of a read count", BOUND_BAND,
        "~BAND_LOAD(over) : (bound_vec){0}", "~(bound_vec){0} : (bound_vec){0}",
        "tests/property/test_filters.py::test_narrow_bands_of_reads_of_any_length_side_by_side"),
    Mutation("band32: given up at the limit", BOUND_BAND,
        "(least[l] <= sites[site].limit)", "(least[l] < sites[site].limit)", MANY_PLACES),
    Mutation("band32: the second 64 rows face the first again", BOUND_BAND,
        "queue->at[from] + 64", "queue->at[from]", MANY_PLACES),
    Mutation("band32: lanes of several reads take the bases of the first", BOUND_BAND,
        "planes->reads + read[l], of_lane", "planes->reads + read[0], of_lane", MANY_PLACES),
    Mutation("band32: a word is missing where the last diagonal just reaches it", BOUND_BAND,
        "+ bases + BAND_WIDTH - 2)", "+ bases + BAND_WIDTH - 3)", NARROW_BANDS),
    Mutation("band32: a band that begins with a word has a row too few", BOUND_BAND,
        "queue.left[i] = sites[i].length;", "queue.left[i] = sites[i].length - !(sites[i].at & 63);", NARROW_BANDS),
    # Search: what is known between two stages.
    Mutation("search: a read goes on when all it needs has been seen", KNOWLEDGE,
        "(known->complete < wanted)", "(known->complete <= wanted)", PLAIN_READS),
    Mutation("search: limits do not tighten", KNOWLEDGE,
        "known->limit < edits + margin", "known->limit", PLAIN_READS),
    Mutation("search: scored buckets of a read that goes on are lost", STAGES,
        "for i in range(i, n_a):", "for i in range(i, n_a - 1):", PLAIN_READS),
    # All places.
    Mutation("all: a gap costs no more than its bases", LOCAL_TYPES,
        "WHOLE_ERROR + 2, WHOLE_ERROR, WHOLE_ERROR + 2", "WHOLE_ERROR, WHOLE_ERROR, WHOLE_ERROR",
        "tests/property/test_fewest_gaps.py"),
    # Selection.
    Mutation("selection: ends ten bases apart are two places", SELECTION,
        "while j < k and <int64_t>((keys[j] >> KEY_ROW_BITS) - (keys[i] >> KEY_ROW_BITS)) <= apart",
        "while j < k and <int64_t>((keys[j] >> KEY_ROW_BITS) - (keys[i] >> KEY_ROW_BITS)) < apart",
        "tests/unit/test_bands.py"),
    Mutation("selection: a worse place left of a better one stays", SELECTION,
        "if stratum[j] > d:", "if stratum[j] > d + 1:", "tests/unit/test_bands.py"),
    Mutation("selection: places are sorted by strand, not by canonical strand", SELECTION,
        "place_key((places[i].read_strand & 1) ^ read.flip, ",
        "place_key(places[i].read_strand & 1, ", "tests/unit/test_bands.py"),
    Mutation("selection: places at the margin are left out", SELECTION,
        "if places[i].edits <= best + read.margin:", "if places[i].edits <= best + read.margin - (read.margin > 0):",
        "tests/unit/test_bands.py"),
    Mutation("selection: one row too many is reported", READ_SEARCH,
        "self.summary[r].n_reported, most)", "self.summary[r].n_reported, most + (most < 100))",
        "tests/unit/test_bands.py"),
    # Local ends.
    Mutation("ungapped: what loses as much as a gap is taken to be plain", LOCAL_START,
        "start.loss < costs.breaking", "start.loss <= costs.breaking", TEST_UNGAPPED),
    Mutation("ends: on a device, alignments end on the diagonal that their band is around",
        "gassst/gpu/kernels/ends.cl", "end.diagonal = first[i] + out.end[i];", "end.diagonal = end.touched;",
        "tests/parity/test_device_single.py"),
    Mutation("ungapped: a masked base is no loss", LOCAL_START,
        " + costs.masked * count_bits(masked)", "", TEST_UNGAPPED),
    Mutation("local: a part may overlap all but the primary line", LOCAL_PARTS,
        "if j < 0 or other.hit.read != hit.read:", "if j < 0 or other.hit.read <= hit.read:",
        "tests/unit/test_further_parts.py"),
    Mutation("local: a place is listed for each part that it is a rival of", LOCAL_PARTS,
        "taken[at] = True", "taken[at] = False", LOCAL_REPORT),
    Mutation("local: what ends where a better alignment does is listed", LOCAL_ALIGNER,
        "if is_new[known + i] and rank", "if rank", LOCAL_REPORT),
    # Pairing.
    Mutation("pairs: a mate is given up as if it were alone", PAIR_STAGES,
        "if self.states.best[other] == NO_SCORE:", "if False:", PLAIN_PAIRS),
    Mutation("pairs: the last bucket of a window is left out", PAIR_STAGES,
        "(near.high >> self.shift) + (near.low <= near.high)", "near.high >> self.shift", PLAIN_PAIRS),
    Mutation("pairing: mates apart weigh as much as a pair", PAIR_SCORING,
        "total += unpaired * sum_a * sum_b", "total += sum_a * sum_b", "tests/unit/test_pairing.py"),
    Mutation("pairing: mates on two contigs make a pair", "ext/common/orientation.h",
        "near.high < last ? near.high : last", "near.high", "tests/unit/test_pairing.py"),
    Mutation("pairing: each diagonal is a place of its own", JOINT,
        "place.diagonal - before.diagonal > SAME_PLACE", "place.diagonal > before.diagonal", JOINT_PLACES),
    Mutation("pairing: mates are looked for in one orientation", JOINT,
        "windows.n):\n        all.find_runs", "windows.n - 1):\n        all.find_runs", JOINT_PLACES),
    Mutation("pairing: a word that begins in two blocks is not looked up", JOINT,
        "            at += WORDS_AT_ONCE", "            at += 64", JOINT_PLACES),
    Mutation("pairing: places beside a mate count with the bonus of their ends", LOCAL_PARTS,
        "score = new[j].score if vouched else", "score = new[j].total if vouched else", JOINT_PLACES),
    Mutation("pairing: a place of other bases is a rival", JOINT,
        "pair.n[side] = kept", "kept = 0", JOINT_PLACES),
    Mutation("pairing: a deletion does not lengthen the template", CIGAR_H,
        "cigar_op(runs[i]) == CIGAR_MATCH || cigar_op(runs[i]) == CIGAR_DELETION", "cigar_op(runs[i]) == CIGAR_MATCH",
        "tests/unit/test_proper.py"),
    Mutation("pairing: the longest proper template is not proper", "gassst/_core/common.pxd",
        "<= template <= w.high", "<= template < w.high", "tests/unit/test_proper.py"),
    Mutation("pairing: chance has half of the window for mates that are placed by their scores", MAPQ,
        "* window / 2", "* window / 4", PAIR_QUALITY),
    # Tandem repeats.
    Mutation("tandem: copies that are worse than the best one count", TANDEM,
        "errors[0], count = <uint16_t>found, 0", "errors[0] = <uint16_t>found", TEST_TANDEM),
    Mutation("tandem: the furthest copy is not seen", TANDEM,
        "FURTHEST = 128 ", "FURTHEST = 127 ", TEST_TANDEM),
    # Records.
    Mutation("records: template length from one base has a length", MATES,
        "+ (distance > 0) -", "+ (distance >= 0) -", "tests/unit/test_sam_pairs.py"),
    Mutation("records: the outer end of a reverse mate is one base off", MATES,
        "place.position + place.span - 1 if", "place.position + place.span if", "tests/unit/test_sam_pairs.py"),
    Mutation("records: a mate with an unmapped mate stays proper", MATES,
        "flag & (BAM_FUNMAP | BAM_FMUNMAP) else", "flag & BAM_FUNMAP else", "tests/unit/test_sam_pairs.py"),
    Mutation("records: qualities of a reverse read are not turned", FIELDS,
        "load_eight(quals + length - 8 - at)", "load_eight(quals + at)", "tests/unit/test_sam.py"),
    Mutation("records: qualities of a reverse read of few bases are not turned", FIELDS,
        "quals[reverse ? length - 1 - i : i] - zero", "quals[i] - zero", "tests/unit/test_sam.py"),
    Mutation("records: matches before a deletion are counted again behind it", FIELDS,
        "reference_letter(reference, position++);\n            equal = 0;",
        "reference_letter(reference, position++);", "tests/unit/test_sam.py"),
    Mutation("records: qualities of a clipped reverse row begin at the wrong end", BUILDER,
        "(clips.last if reverse else clips.first)", "clips.first", "tests/unit/test_sam_pairs.py"),
    Mutation("records: the first base of a contig belongs to the one before", CONTIGS_H,
        "starts[middle] <= coordinate", "starts[middle] < coordinate", "tests/unit/test_sam.py"),
    # Duplicates: places, scores, ties, single reads beside pairs, ordinals of batches, marks of records.
    Mutation("duplicates: clips at the end of a read do not count", RECORD_ENDS,
        "r->position + span + trail",
        "r->position + span",
        AS_SAMTOOLS),
    Mutation("duplicates: bases of quality 15 count nothing", RECORD_ENDS,
        "r->quals[i] >= LEAST_QUALITY ?",
        "r->quals[i] > LEAST_QUALITY ?",
        AS_SAMTOOLS),
    Mutation("duplicates: tandem pairs are the same either way round", DUPLICATES,
        "TANDEM if left.is_first_mate != left.reverse else TANDEM_TURNED",
        "TANDEM",
        AS_SAMTOOLS),
    Mutation("duplicates: the greatest name stays", DUPLICATES,
        "<const char *>b + POSITION_BYTES) < 0",
        "<const char *>b + POSITION_BYTES) > 0",
        f"{DUPLICATE_TESTS}test_of_equal_pairs_the_least_name_stays"),
    Mutation("duplicates: the last single read of equal ones stays", DUPLICATES,
        "return one < other",
        "return one > other",
        f"{DUPLICATE_TESTS}test_of_equal_single_reads_the_first_in_the_file_stays"),
    Mutation("duplicates: a single read stays beside a pair", DUPLICATES,
        "blocked = e < n_ends and is_equal(ends, e, rows, i, barcodes)",
        "blocked = False",
        f"{DUPLICATE_TESTS}test_a_pair_stays_beside_better_single_reads"),
    Mutation("duplicates: spots are near if x is", DUPLICATES,
        "if head < tail and -distance <= apart(spots[i].y, spots[queue[head]].y) <= distance:",
        "if head < tail:",
        f"{DUPLICATE_TESTS}test_optical_duplicates_are_those_of_samtools"),
    Mutation("duplicates: names are looked for where reads begin without clips", DUPLICATES_PY,
        "places - self.reach - 1", "places", AS_SAMTOOLS),
    Mutation("duplicates: ordinals begin anew with each batch", DUPLICATES_PY,
        "self._templates += signed.templates",
        "self._templates = signed.templates",
        f"{DUPLICATE_TESTS}test_nothing_depends_on_memory_threads_and_batches"),
    Mutation("duplicates: marks are not sorted with their records", SORTING,
        "mark = marks[source] if",
        "mark = marks[i] if",
        AS_SAMTOOLS),
    # Sorted files: order, ties, index.
    Mutation("sorting: records that lie nowhere come first", SORTING,
        "(tid if tid >= 0 else UNPLACED_TID)", "(tid if tid >= 0 else 0)", "tests/unit/test_sorting.py"),
    Mutation("sorting: the strand does not count", SORTING,
        "| (reverse != 0))", "| 0)", "tests/unit/test_sorting.py"),
    Mutation("sorting: equal records on disk come behind those in memory", SORTING_PY,
        "[*self._on_disk, *self._in_memory]", "[*self._in_memory, *self._on_disk]", "tests/unit/test_sorting.py"),
    Mutation("sorting: the index is one byte off", SORTING_PY,
        "np.cumsum([at, *map(len", "np.cumsum([at + 1, *map(len", "tests/unit/test_sorting.py"),
    # Seeds and plans.
    Mutation("index: the last occurrences of a seed are left out", "gassst/gpu/kernels/seed_lookup.h",
        "(uint32_t)(((rest >> deep) + 1) << shift)", "(uint32_t)(((rest >> deep) + 1) << shift) - 1",
        "tests/unit/test_seed_index.py::test_lookup_of_every_length"),
    Mutation("seeds: at step 2 those that begin with two positions that are not kept are looked up by the second",
        "gassst/gpu/kernels/seed_lookup.h",
        "    return MOST_BEFORE;\n}", "    return MOST_BEFORE - 1;\n}", "tests/property/test_index_step.py"),
    Mutation("device: at step 2 the bases before a position are not compared", "gassst/gpu/kernels/seeds.cl",
        "while (front &&", "while (0 &&", "tests/parity/test_device_step.py"),
    Mutation("seeds: a read has no canonical strand", SEEDS,
        "return reverse[i] < forward[i]", "return False", "tests/property/test_mapper.py"),
    Mutation("seeds: those that are clipped on one strand do not count", SEEDS,
        "clipped[0] += seeds[i].clipped | seeds[i + turns].clipped", "clipped[0] += seeds[i].clipped", MAPQ_INPUTS),
    Mutation("seeds: dense ones that are clipped on one strand lie nowhere", SEEDS,
        "if self.seeds[j].clipped | self.seeds[j + self.turns].clipped:", "if self.seeds[j].clipped:", MAPQ_INPUTS),
    Mutation("seeds: nothing is looked at where all of them occur too often", SEEDS,
        "caps[seeds[i].length] if i == rarest else 0", "0", MAPQ_INPUTS),
    Mutation("seeds: nothing is looked at where all of them occur too often, and no copy is found", SEEDS,
        "caps[seeds[i].length] if i == rarest else 0", "0",
        "tests/property/test_lossless.py::test_repeats_above_the_cap"),
    Mutation("plan: a read is settled with one error too many", "gassst/search/plan.py",
        "<= self.settled_share).sum(axis=1) - 1", "<= self.settled_share).sum(axis=1)",
        "tests/unit/test_seeding.py"),
    Mutation("mapq: the ends of a read on the reverse strand are not swapped", SELECTION,
        "five, three = three, five", "pass", "tests/unit/test_deamination.py"),
    Mutation("mapq: as many deaminated bases as others show damage", "gassst/pairing/error_rate.py",
        "total > 2 * total[:, ::-1]", "total >= total[:, ::-1]", "tests/unit/test_deamination.py"),
    Mutation("search: a read with damage is settled as any other", READ_SEARCH,
        "self.stages.margin if self.stay else 0", "0", PLAIN_READS),
    Mutation("mapq: whole reads have one error more in their odds", MAPQ,
        "case.odds = self.odds.of_one(errors,", "case.odds = self.odds.of_one(errors + 1,", MAPQ_INPUTS),
    Mutation("mapq: a read that may as well be elsewhere has a quality", MAPQ,
        "return 0 if wrong > AS_LIKELY else", "return 0 if wrong > 1e8 else", "tests/property/test_pairs_mapped.py"),
    # Runs over files.
    Mutation("run: what bands have counted is left out", "gassst/model/stats.py",
        "self.extension += other.extension\n        self.funnel += other.funnel\n        self.cycles",
        "self.funnel += other.funnel\n        self.cycles", "tests/cli/test_threads.py"),
    Mutation("runs: a fault comes before the samples in front of it are complete", "gassst/runs/run.py",
        "        error = raised", "        raise", "tests/unit/test_file_runs.py"),
    Mutation("run: a shard learns the insert sizes of its own reads", FILE_RUN,
        "if self._shard is None or self._insert is not None or self._head is not None:", "if True:",
        "tests/cli/test_gather_shards.py"),
    Mutation("run: shards mapped with other parameters are of one run", FILE_RUN,
        "contigs.digest, deciding(mapper.params)\n", "contigs.digest\n",
        "tests/cli/test_gather_shards.py"),
]  # fmt: skip


class CannotJudge(Exception):
    """No verdict on a mutation: the reason is the message."""


def copy_tree(to: Path) -> None:
    """The checkout, and what has been built of it."""
    take_checkout(to, ROOT)
    for built in ROOT.glob("build/*"):
        if built.name == "cython" or built.name.startswith("objects-"):
            shutil.copytree(built, to / "build" / built.name)


def build(tree: Path) -> None:
    """Builds the compiled modules in place: those whose sources have changed."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise CannotJudge(f"the tree does not build\n{done.stderr[-2000:]}")


def run_tests(tree: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Exit status and output of pytest, in one process, on the package in `tree`.

    OpenCL devices take part where all of the tests are theirs.
    """
    command = [sys.executable, "-m", "pytest", "-n0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    if not all("test_device_" in test for test in tests):
        environment["GASSST_OPENCL"] = "0"
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@contextmanager
def planted(tree: Path, mutation: Mutation) -> Iterator[None]:
    """The tree with the fault in it, built; without it afterwards."""
    path = tree / mutation.path
    text = path.read_text() if path.is_file() else ""
    if text.count(mutation.old) != 1:
        raise CannotJudge(f"{mutation.path} has {text.count(mutation.old)} times {mutation.old!r}, not once")
    try:
        path.write_text(text.replace(mutation.old, mutation.new))
        build(tree)
        yield
    finally:
        path.write_text(text)  # what was built of it is stale now: the next build makes it anew


def is_caught(tree: Path, mutation: Mutation) -> bool:
    """Whether its test fails, as tests do: a crash is a verdict too, a test that is not there is none."""
    with planted(tree, mutation):
        status, output = run_tests(tree, [mutation.test])
    if status > TESTS_FAILED:
        raise CannotJudge(f"pytest ended with {status}\n{output[-2000:]}")
    return status != 0


def judge(tree: Path, mutations: Sequence[Mutation]) -> tuple[list[str], list[str]]:
    """Names of the mutations that survive, and of those without a verdict; a line for each on the way."""
    survived, unknown = [], []
    for mutation in mutations:
        start = time.monotonic()
        try:
            caught = is_caught(tree, mutation)
            verdict = "caught" if caught else "SURVIVED"
            survived += [] if caught else [mutation.name]
        except CannotJudge as error:
            verdict = f"NO VERDICT: {error}"
            unknown.append(mutation.name)
        print(f"{mutation.name} [{mutation.test}] {time.monotonic() - start:.0f} s: {verdict}", flush=True)
    return survived, unknown


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", metavar="TEXT", default="", help="only mutations with this in name or path")
    parser.add_argument("--list", action="store_true", help="print the mutations and their tests, and stop")
    args = parser.parse_args(argv)
    chosen = [m for m in MUTATIONS if args.k in m.name or args.k in m.path]
    if not chosen:
        parser.error(f"no mutation has {args.k!r} in its name or path")
    if args.list:
        print("\n".join(f"{m.name}\n    {m.path}\n    {m.test}" for m in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        build(tree)
        status, output = run_tests(tree, sorted({m.test for m in chosen}))
        if status:
            print(f"The tests fail without any fault:\n{output[-4000:]}", file=sys.stderr)
            return 2
        survived, unknown = judge(tree, chosen)
    print(f"{len(chosen)} mutations, {len(chosen) - len(survived) - len(unknown)} caught")
    return 2 if unknown else 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
