"""`gassst.dataclass` against the decorator of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import ClassVar, Generic, TypeVar

import pytest

from gassst.dataclass import dataclass

T = TypeVar("T")


def declared(decorate):
    """The same classes, made by one decorator."""

    @decorate(frozen=True)
    class Base:
        number: int
        kind: ClassVar[str] = "base"
        names: list[str] = dataclasses.field(default_factory=list, repr=False)
        weight: float = dataclasses.field(default=2.5, compare=False)

    @decorate(frozen=True)
    class Derived(Base):
        number: int = 7
        more: tuple[int, ...] = ()

        def __repr__(self) -> str:
            return f"own {self.number}"

    @decorate(eq=False)
    class Open(Generic[T]):
        value: T
        twice: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.value

    @decorate(frozen=True, kw_only=True)
    class ByName:
        first: int
        second: int | None = None

    @decorate()
    class Plain:
        x: int

    return {cls.__name__: cls for cls in (Base, Derived, Open, ByName, Plain)}


OURS, THEIRS = declared(dataclass), declared(dataclasses.dataclass)
CALLS = [
    ("Base", (1,), {}),
    ("Base", (1, ["a"]), {"weight": 1.0}),
    ("Derived", (), {}),
    ("Derived", (3, ["a"], 1.5, (1, 2)), {}),
    ("Open", (4,), {}),
    ("ByName", (), {"first": 1}),
    ("Plain", (1,), {}),
]


@pytest.mark.parametrize("name, args, named", CALLS, ids=str)
def test_instances_are_those_of_the_standard_decorator(name, args, named):
    ours, theirs = OURS[name](*args, **named), THEIRS[name](*args, **named)
    assert vars(ours) == vars(theirs)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    again = OURS[name](*args, **named)
    assert (ours == again) == (theirs == THEIRS[name](*args, **named))
    assert vars(copy.copy(ours)) == vars(ours)
    fields = [(f.name, f.type, f.init, f.repr, f.compare) for f in dataclasses.fields(ours)]
    assert fields == [(f.name, f.type, f.init, f.repr, f.compare) for f in dataclasses.fields(theirs)]


@pytest.mark.parametrize("name", OURS)
def test_classes_are_those_of_the_standard_decorator(name):
    ours, theirs = OURS[name], THEIRS[name]
    assert dataclasses.is_dataclass(ours)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


@pytest.mark.parametrize(
    "name, args", [("Base", ()), ("Base", (1, [], 2.5, 4)), ("ByName", (1,)), ("Plain", ())]
)
def test_wrong_arguments_are_refused(name, args):
    for cls in (THEIRS[name], OURS[name]):
        with pytest.raises(TypeError):
            cls(*args)


def test_frozen_instances_stay_as_they_are():
    one, other = OURS["Base"](1, names=()), OURS["Base"](1, names=(), weight=9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.number = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.number
    assert one == other and hash(one) == hash(other) and one != OURS["Base"](2, names=())
    assert dataclasses.replace(one, number=3).number == 3
    assert not hasattr(OURS["Base"], "names") and OURS["Base"].weight == 2.5


@dataclass(frozen=True)
class Kept:
    """For `pickle`, which finds it by its name."""

    x: int


def test_instances_can_be_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_a_standard_data_class_may_derive_from_one():
    @dataclasses.dataclass(frozen=True)
    class Derived(OURS["Base"]):
        last: int = 0

    assert Derived(1, last=2).last == 2 and Derived(1) == Derived(1)
