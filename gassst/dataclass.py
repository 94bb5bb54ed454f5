"""`dataclass` of the standard library for the classes of a run: their methods are made when they are first needed.

The standard decorator compiles up to six functions for every class, which takes 0.5 ms. A run of `gassst map` defines
sixty such classes, a seventh of the CPU time that it needs to start, and never compares or prints most of them. Here
the first instance of a class makes its `__init__`. The rest is left to the standard library, for the classes that are
asked for it. A class behaves as it would with the standard decorator. Parameters that users set have that one, for the
sake of tools that read signatures in source code.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False):  # noqa: A002 - names of a library
        """As `dataclasses.dataclass`, of which it takes these options."""

        def deferred(cls):
            _defer(cls, {"frozen": frozen, "eq": eq, "repr": repr, "kw_only": kw_only})
            return cls

        return deferred if cls is None else deferred(cls)


FROM_STANDARD = (
    "__repr__",
    "__eq__",
    "__hash__",
    "__match_args__",
    "__dataclass_params__",
    "__dataclass_fields__",
)


class _Deferred:
    """An attribute of a class that is made, with all others of `FROM_STANDARD`, when it is first looked up."""

    def __init__(self, name: str, twin: _Twin):
        self._name, self._twin = name, twin

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """What the standard library makes."""
        made = getattr(self._twin.standard(), self._name)
        return made if instance is None or not callable(made) else made.__get__(instance, owner)


class _Signature:
    """What `inspect.signature` says of a class, until and after its `__init__` is made; nothing of derived classes."""

    def __init__(self, twin: _Twin):
        self._twin = twin

    def __get__(self, instance: Any, owner: type | None = None) -> inspect.Signature | None:
        return inspect.signature(self._twin.standard()) if owner is self._twin.cls else None


class _Twin:
    """A class with the same fields, of which the standard library makes a data class.

    Parameters
    ----------
    cls : type
        Gets the attributes of the twin once they are made.
    body : dict
        What the twin needs of the class body: annotations and defaults, `dataclasses.Field` among them.
    options : dict
        Of the standard decorator.
    """

    def __init__(self, cls: type, body: dict[str, Any], options: dict[str, bool]):
        self.cls, self._body, self._options = cls, body, options
        self.deferred: list[str] = []

    def standard(self) -> type:
        """The data class. Threads that come here at once make equal ones."""
        same = ("__module__", "__qualname__", "__doc__", "__orig_bases__")
        body = {name: getattr(self.cls, name) for name in same if hasattr(self.cls, name)}
        twin = type(self.cls.__name__, self.cls.__bases__, body | self._body)
        made: type = dataclasses.dataclass(**self._options)(twin)
        for name in self.deferred:
            setattr(self.cls, name, getattr(made, name))
        return made


def _defer(cls: type, options: dict[str, bool]) -> None:
    """Give a class its `__init__` and the attributes of a data class, none of which is made yet."""
    own: dict[str, str] = cls.__dict__.get("__annotations__", {})
    defaults = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
    twin = _Twin(cls, {"__annotations__": own, **defaults}, options)
    for name, value in defaults.items():
        if isinstance(value, dataclasses.Field):
            if value.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
    cls._own_fields = own, defaults  # type: ignore[attr-defined]
    wanted = {"__repr__": options["repr"], "__eq__": options["eq"]}
    for name in FROM_STANDARD:
        if name == "__hash__" and options["eq"] and "__hash__" not in cls.__dict__:
            if not options["frozen"]:
                cls.__hash__ = None  # type: ignore[assignment]
                continue
        elif name == "__hash__" or not wanted.get(name, True) or name in cls.__dict__:
            continue
        twin.deferred.append(name)
        setattr(cls, name, _Deferred(name, twin))
    cls.__signature__ = _Signature(twin)  # type: ignore[attr-defined]
    if options["frozen"]:
        cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete  # type: ignore[assignment, method-assign]
    cls.__init__ = _first_init(cls, options)  # type: ignore[misc]


def _first_init(cls: type, options: dict[str, bool]) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made = _make_init(cls, options["frozen"], options["kw_only"])
        cls.__init__ = made  # type: ignore[misc]
        made(self, *args, **kwargs)

    return __init__


def _make_init(cls: type, frozen: bool, kw_only: bool) -> Any:
    """The `__init__` that `dataclasses` would make."""
    own: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if "_own_fields" in base.__dict__:
            of_base, given = base.__dict__["_own_fields"]
            own |= of_base
            for name in of_base:
                defaults.pop(name, None)
            defaults |= given
    scope: dict[str, Any] = {"put": object.__setattr__, "MISSING": dataclasses.MISSING}
    heads, lines = ["self", *["*"] * kw_only], []
    for name, annotation in own.items():
        if annotation.startswith("ClassVar"):
            continue
        default, value, is_given = defaults.get(name, dataclasses.MISSING), name, True
        if isinstance(default, dataclasses.Field):
            is_given = default.init
            if default.default_factory is not dataclasses.MISSING:
                scope[f"make_{name}"], default = default.default_factory, dataclasses.MISSING
                value = f"make_{name}() if {name} is MISSING else {name}" if is_given else f"make_{name}()"
                heads += [f"{name}=MISSING"] if is_given else []
                lines.append((name, value))
                continue
            default = default.default
        if not is_given:
            if default is dataclasses.MISSING:
                continue
            value = f"default_{name}"
        if default is not dataclasses.MISSING:
            scope[f"default_{name}"] = default
        if is_given:
            heads.append(name if default is dataclasses.MISSING else f"{name}=default_{name}")
        lines.append((name, value))
    body = [
        f" put(self, {name!r}, {value})" if frozen else f" self.{name} = {value}" for name, value in lines
    ]
    body += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec("\n".join([f"def __init__({', '.join(heads)}):", *body, " return None"]), scope)
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
