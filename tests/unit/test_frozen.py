"""`frozen` and `mutable` make what `dataclasses.dataclass` makes, `NamedTuple` and `TypedDict` what `typing` does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property

import pytest

from gassst.frozen import NamedTuple, frozen, mutable


class _Fields:
    """One."""

    first: int
    second: str = "x"
    third: list[int] = field(default_factory=list)
    fourth: float = field(default=0.5, compare=False, repr=False)

    @cached_property
    def twice(self):
        return 2 * self.first


class _More:
    """Two."""

    fifth: int = 7


def made(decorate):
    def copied(kind, *bases):
        return type(
            kind.__name__,
            bases,
            {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__")},
        )

    base = decorate(copied(_Fields))
    return base, decorate(copied(_More, base))


OURS, THEIRS = made(frozen()), made(dataclass(frozen=True))
MUTABLE, THEIR_MUTABLE = made(mutable()), made(dataclass)
PAIRS = pytest.mark.parametrize(
    "ours, theirs",
    list(zip(OURS + MUTABLE, THEIRS + THEIR_MUTABLE, strict=True)),
    ids=["base", "derived", "mutable base", "mutable derived"],
)


@PAIRS
@pytest.mark.parametrize(
    "args, given",
    [((1,), {}), ((1, "y"), {"third": [3]}), ((), {"first": 2, "fourth": 9.0}), ((1, "y", [], 1.0), {})],
)
def test_objects_are_made_alike(ours, theirs, args, given):
    one, two = ours(*args, **given), theirs(*args, **given)
    assert dataclasses.asdict(one) == dataclasses.asdict(two)
    assert repr(one) == repr(two)
    assert dataclasses.asdict(dataclasses.replace(one, second="z")) == dataclasses.asdict(
        dataclasses.replace(two, second="z")
    )
    assert one.twice == one.twice == 2 * one.first


@PAIRS
@pytest.mark.parametrize(
    "args, given", [((), {}), ((1, "y", [], 1.0, 5, 6), {}), ((1,), {"other": 1}), ((1,), {"first": 1})]
)
def test_wrong_arguments_are_refused(ours, theirs, args, given):
    for kind in (ours, theirs):
        with pytest.raises(TypeError):
            kind(*args, **given)


@PAIRS
def test_signatures_are_alike(ours, theirs):
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))


def test_objects_are_compared_by_the_fields_that_count():
    kind = OURS[0]
    assert kind(1, third=()) == kind(1, third=(), fourth=3) != kind(2, third=())
    assert len({kind(1, third=()), kind(1, third=(), fourth=3), kind(2, third=())}) == 2
    assert kind(1) != THEIRS[0](1) and kind(1) != OURS[1](1)
    assert kind(1).third is not kind(1).third


def test_nothing_can_be_changed():
    one = OURS[0](1)
    for change in (
        lambda: setattr(one, "first", 2),
        lambda: setattr(one, "new", 2),
        lambda: delattr(one, "first"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert vars(copy.copy(one)) == vars(one)


class Ours(NamedTuple):
    """Three fields."""

    first: int
    second: str = "x"
    third: float = 0.5

    @property
    def twice(self) -> int:
        return 2 * self.first


class Theirs(typing.NamedTuple):
    first: int
    second: str = "x"
    third: float = 0.5


@pytest.mark.parametrize(
    "args, given", [((1,), {}), ((1, "y", 2.0), {}), ((1,), {"third": 3}), ((), {"first": 2})]
)
def test_named_tuples_are_made_alike(args, given):
    one, two = Ours(*args, **given), Theirs(*args, **given)
    assert one == two and repr(one) == repr(two).replace("Theirs", "Ours")
    assert (one.first, one.second, one.third, one.twice) == (*two, 2 * two.first)
    assert one._asdict() == two._asdict() and one._replace(second="z") == two._replace(second="z")
    assert type(one._replace(first=3)) is Ours
    for copied in (pickle.loads(pickle.dumps(one)), copy.copy(one)):
        assert copied == one and type(copied) is Ours
    match one:
        case Ours(first, second, _):
            assert (first, second) == one[:2]


@pytest.mark.parametrize(
    "args, given",
    [((), {}), ((1, "y", 2.0, 3), {}), ((1,), {"other": 1}), ((1,), {"first": 1}), ((), {"third": 1})],
)
def test_wrong_fields_of_named_tuples_are_refused(args, given):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*args, **given)
    with pytest.raises(AttributeError):
        Ours(1).first = 2
