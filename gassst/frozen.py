"""Dataclasses, named tuples and typed dictionaries without generated code.

For each class `dataclasses` writes, compiles and runs three to six functions while it is imported, and `typing`
compiles each annotation: a quarter of the start of a run. Here all classes share theirs. `fields`, `replace` and
`asdict` of `dataclasses` work as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, dataclass, field, fields, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature
    from typing import NamedTuple, TypedDict

__all__ = ["NamedTuple", "TypedDict", "asdict", "field", "fields", "frozen", "mutable", "replace"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass(frozen=True)`; without `eq`, each object equals itself alone, and is shown as such."""
    return _with(_REFUSING | (_COMPARED | {"__hash__": _hash} if eq else {}))


@dataclass_transform(field_specifiers=(field,))
def mutable(*, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass`; `eq` as for `frozen`."""
    return _with(_COMPARED | {"__hash__": None} if eq else {})


def _with(functions: dict[str, Any]) -> Callable[[type[T]], type[T]]:
    """A decorator that gives a class its fields, and those of these functions that it does not define itself."""

    def made(cls: type[T]) -> type[T]:
        for name, function in (_MADE | functions).items():
            if name not in vars(cls):
                setattr(cls, name, function)
        return _with_fields(cls)

    return made


_with_fields = dataclass(init=False, repr=False, eq=False, match_args=False)


def _init(self: Any, *args: Any, **given: Any) -> None:
    known: dict[str, Field[Any]] = type(self).__dataclass_fields__
    values = dict(zip(known, args, strict=False))
    if len(args) > len(known) or given.keys() - known.keys() or given.keys() & values.keys():
        _signature_of(type(self)).bind(*args, **given)  # raises TypeError
    values |= given
    for name, each in known.items():
        if name not in values:
            values[name] = _default(self, each)
    self.__dict__.update(values)


def _default(made: Any, missing: Field[Any]) -> Any:
    if missing.default is not MISSING:
        return missing.default
    if missing.default_factory is not MISSING:
        return missing.default_factory()
    raise TypeError(f"{type(made).__name__}: missing argument {missing.name!r}")


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, each.name) for each in fields(self) if each.compare)


def _equal(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


class _Signature:
    """Made when `inspect` or `help` asks for it."""

    def __get__(self, instance: object, owner: type) -> Signature:
        return _signature_of(owner)


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


def _signature_of(cls: type) -> Signature:
    from inspect import Parameter, Signature

    parameters = []
    for each in fields(cls):
        default = Parameter.empty if each.default is MISSING else each.default
        default = default if each.default_factory is MISSING else _Factory()
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(each.name, kind, default=default, annotation=each.type))
    return Signature(parameters, return_annotation=None)


_MADE = {"__init__": _init, "__signature__": _Signature()}
_REFUSING = {"__setattr__": _refuse, "__delattr__": _refuse}
_COMPARED = {"__eq__": _equal, "__repr__": _repr}


if not TYPE_CHECKING:

    class NamedTuple(tuple):
        """As `typing.NamedTuple`."""

        __slots__ = ()

        def __init_subclass__(cls):
            cls._fields = cls.__match_args__ = tuple(cls.__annotations__)
            cls._field_defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
            for i, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(i)))

        def __new__(cls, *args, **given):
            if given or len(args) != len(cls._fields):
                placed = dict(zip(cls._fields, args, strict=False))
                values = cls._field_defaults | placed | given
                if len(args) > len(placed) or given.keys() & placed or values.keys() ^ cls._fields:
                    raise TypeError(f"{cls.__name__}{cls._fields} cannot be made of {args} and {given}")
                args = [values[name] for name in cls._fields]
            return tuple.__new__(cls, args)

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **given):
            return type(self)(**self._asdict() | given)

    class TypedDict(dict):
        """As `typing.TypedDict`."""

        def __init_subclass__(cls, total=True):
            kinds = {}
            for base in reversed(cls.__mro__):
                kinds |= getattr(base, "__annotations__", {})
            cls.__annotations__, cls.__total__ = kinds, total
