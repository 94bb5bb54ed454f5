"""The quick look of a device at pairs finds what the passes on the host find."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import (
    SPLIT,
    assert_same_rows,
    hard_pairs,
    hard_search,
    pair_context,
    pairs_of,
)

import gassst
from gassst.errors import DeviceError
from gassst.gpu import arrays as device_arrays
from gassst.gpu import quick as device_quick
from gassst.gpu import search as device
from gassst.gpu import seeds as device_seeds
from gassst.gpu.device import Engine
from gassst.gpu.requests import Searched
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import PairTrial
from gassst.index.miss_model import MISS_ERRORS
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import batch_of_pairs
from gassst.search import host_pairs
from gassst.search.context import missed_by_row


@pytest.fixture(autouse=True)
def looks_quickly_at_three_seeds(monkeypatch):
    """Reads of these genomes begin with three seeds, and a quick look asks for four."""
    monkeypatch.setattr(host_pairs, "QUICK_SEEDS", 3)


class TestQuickLook:
    """What a device says of pairs is what the passes on the host say."""

    @pytest.mark.parametrize(
        ("params", "insert"),
        [
            ({}, ("fr", 320, 30)),
            ({"mode": "global", "sensitivity": 5, "seed_length": 10}, ("fr", 330, 60)),
            ({"sensitivity": 1}, ("fr", 300, 5)),
            ({}, ("rf", 320, 30)),
            ({}, ("ff", 320, 40)),
        ],
        ids=str,
    )
    def test_states_are_those_of_the_host(self, search, index, small_genome, params, insert):
        batch = pairs_of(small_genome, insert[0])
        trial = PairTrial.of_batch(*pair_context(index, batch, params), InsertModel.given(*insert))
        state = trial.expected[1]
        assert 0.2 < state.open.mean() < 0.9 and 0 < len(trial.request.mates) < len(trial.request.reads)
        found = search.quick_look(trial.context, Stats(), *trial.asked)
        assert trial.is_met_by(found)
        assert trial.is_met_by(
            search.quick_look(trial.context, Stats(), *trial.asked)
        )  # nothing is left over

    def test_copies_borders_and_seeds_passed_over(self, engine, tmp_path):
        """Pairs that fit two places alike, mates on either side of a border, and elements of many copies."""
        rng = np.random.default_rng(4)
        genome, batch = hard_pairs(rng)
        fasta = tmp_path / "hard.fa"
        fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
        index = gassst.Index.build(fasta)
        info, device = engine.info, engine.device
        search = DeviceSearch(index, Engine(info, device, index.reference.planes), SPLIT)
        trial = PairTrial.of_batch(*pair_context(index, batch, {}), InsertModel.given("fr", 700, 100))
        state = trial.expected[1]
        assert trial.expected[0].capped.sum() > 20 and 0.2 < state.open.mean() < 0.9
        assert trial.is_met_by(search.quick_look(trial.context, Stats(), *trial.asked))

    def test_reads_that_repeat_bases_of_their_own(self, search, index):
        """By words of the read as text, on either strand."""
        rng = np.random.default_rng(9)
        mates: tuple[list, list] = [], []
        for i in range(120):
            for each in mates:
                unit = bf.random_bases(rng, int(rng.integers(5, 60)))
                tandem = (unit * 40)[: int(rng.integers(0, 120))]
                read = (bf.random_bases(rng, 70) + tandem + bf.random_bases(rng, 70))[i % 50 :][: 60 + i]
                each.append((f"pair{i}", read.decode(), None))
        context, mate = pair_context(index, batch_of_pairs(*mates), {})
        trial = PairTrial.of_batch(context, mate, InsertModel.given("fr", 320, 30))
        found = search.quick_look(context, Stats(), *trial.asked)
        reads = [read.encode() for pair in zip(*mates, strict=True) for _, read, _ in pair]
        true = [repeats(read) | repeats(bf.reverse_complement(read)) << 1 for read in reads]
        assert found.repeats.tolist() == true and len({*true}) > 2

    def test_pairs_of_copies_get_the_same_records(self, engine, tmp_path, monkeypatch):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 2)
        search, mapper, batch = hard_search(engine, tmp_path)
        expected, counted = mapper.map_batch(batch)
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        assert_same_rows(found, expected)
        assert (own.scored, own.candidates) == (counted.scored, counted.candidates)
        filtered = [
            {name: (stage.entered, stage.left) for name, stage in each.funnel.stages.items()}
            for each in (own, counted)
        ]
        assert filtered[0] == filtered[1] and filtered[1]["band32"][0] > 100

    def test_requests_that_are_looked_at_together_do_not_meet(self, search, index, small_genome):
        batches = [pairs_of(small_genome, "fr", n, seed) for seed, n in enumerate((1, 60, 25))]
        insert = InsertModel.given("fr", 320, 30)
        trials = [PairTrial.of_batch(*pair_context(index, batch, {}), insert) for batch in batches]
        requests = [trial.request for trial in trials]
        for trial, found in zip(trials, search.found(trials[0].searched, requests), strict=True):
            assert trial.is_met_by(found)

    def test_it_is_counted_as_on_the_host(self, search, index, small_genome, monkeypatch):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 2)
        batch = pairs_of(small_genome, "fr")
        mapper = gassst.Mapper(index, device="none")
        expected, counted = mapper.map_batch(batch)
        asked: list[int] = []
        ask = device.DeviceSearch.quick_look
        monkeypatch.setattr(device.DeviceSearch, "quick_look", lambda *a: asked.append(1) or ask(*a))
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        for mine, true in zip(found.rows, expected.rows, strict=True):
            np.testing.assert_array_equal(mine, true)
        assert asked and (own.scored, own.candidates) == (counted.scored, counted.candidates)

    def test_a_device_that_closes_other_pairs_is_not_used(self, search, index, monkeypatch):
        mapper = gassst.Mapper(index, device="none")
        searched = Searched(mapper.plan, mapper.cascade, mapper.params.for_pairs())
        trial = PairTrial.of(index, searched)
        search.warm_up(trial)
        answers = device_quick.QuickLook.answers

        def wrong(backend):
            for found in answers(backend):
                found.is_open[100:102] ^= 1
                yield found

        monkeypatch.setattr(device_quick.QuickLook, "answers", wrong)
        with pytest.raises(DeviceError, match="wrong results"):
            search.warm_up(trial)

    def test_shares_are_compared_as_sums_of_them_are(self, index, small_genome):
        context, _ = pair_context(index, pairs_of(small_genome, "fr"), {})
        present, preset = np.unique(context.lengths), context.plan.preset
        row, shares = device_arrays.shares_missed(context.plan, present)
        missed = np.vstack([missed_by_row(context.plan, present)[1], np.ones(MISS_ERRORS)])
        rank, usual, alone = shares[..., 0].ravel(), shares[..., 1].ravel(), shares[..., 2].ravel()
        both = missed.ravel()[:, None] + missed.ravel()
        np.testing.assert_array_equal(rank < usual[:, None], both <= preset.pair_missed)
        np.testing.assert_array_equal(rank < alone[:, None], both <= preset.pair_missed_alone)
        assert row[present].tolist() == [*range(len(present))]


def repeats(read):
    """Whether the first, the middle or the last word of 8 bases occurs once more."""
    last = len(read) - 8
    words = [read[at : at + 8] for at in range(last + 1)]
    return int(last >= 11 and any(words.count(words[at]) > 1 for at in (0, last // 2, last)))
