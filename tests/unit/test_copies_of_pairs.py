"""Secondary records of pairs name the place of the mate in the same copy."""

import numpy as np
import pytest
from test_copies_of_parts import World, reverse_complement

import gassst
from gassst.model.reference import Reference

READ, INSERT = 100, 320


class Template:
    """Five copies of 400 bases on both strands, one of its first half alone, and one of its second half elsewhere."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.unit = World.drawn(rng, 400)
        text, self.copies = World.drawn(rng, 2000), []
        for is_reverse in (0, 1, 1, 0, 1):
            self.copies.append((len(text), is_reverse))
            text += reverse_complement(self.unit) if is_reverse else self.unit
            text += World.drawn(rng, 2000)
        text += self.unit[:200] + World.drawn(rng, 3000)
        other = World.drawn(rng, 2000) + self.unit[200:] + World.drawn(rng, 500)
        contigs = [("one", text.encode()), ("other", other.encode())]
        self.index = gassst.Index.build(Reference.from_sequences(contigs))

    def records(self, **options):
        first, last = (
            self.unit[40 : 40 + READ],
            reverse_complement(self.unit[40 + INSERT - READ : 40 + INSERT]),
        )
        mapper = gassst.Mapper(self.index, device="none", insert=(float(INSERT), 20.0), **options)
        return list(mapper.map([("r", first, "I" * READ)], [("r", last, "I" * READ)]))


@pytest.fixture(scope="module")
def template():
    return Template()


def five_prime(record):
    return record.reference_end - 1 if record.is_reverse else record.reference_start


def names(record, mate):
    """Whether a record says of the other read what this record of it is."""
    apart = five_prime(mate) - five_prime(record) if record.reference_id == mate.reference_id else 0
    return (
        record.next_reference_id == mate.reference_id
        and record.next_reference_start == mate.reference_start
        and record.mate_is_reverse == mate.is_reverse
        and record.template_length == apart + (apart > 0) - (apart < 0)
        and record.get_tag("MC") == mate.cigarstring
        and record.get_tag("MQ") == mate.mapping_quality
    )


@pytest.mark.parametrize(
    "options", [{"max_hits": 20}, {"all_hits": True}, {"all_hits": True, "mode": "local"}]
)
def test_mates_in_one_copy_name_each_other(template, options):
    records = template.records(**options)
    sides = [[r for r in records if r.is_read1 == is_first] for is_first in (True, False)]
    assert [len(side) for side in sides] == [6, 6]
    found = set()
    for own, others in (sides, sides[::-1]):
        for record in own:
            [mate] = [other for other in others if names(record, other)]
            at = record.reference_start if record.reference_name == "one" else -1
            in_copy = [copy for copy in template.copies if copy[0] <= at < copy[0] + 400]
            assert record.is_proper_pair == bool(in_copy)
            if in_copy:
                assert abs(record.template_length) == INSERT
                assert record.is_reverse == (in_copy[0][1] != record.is_read2)
                found.add((record.is_read1, in_copy[0]))
            else:
                assert not mate.is_secondary and record.is_secondary
    assert found == {(is_first, copy) for is_first in (True, False) for copy in template.copies}
