"""Where the time of scoring and aligning bands went."""

from __future__ import annotations

from gassst.frozen import mutable


@mutable()
class Times:
    """Where the time of an extender went, in ns, and how much it did. Add with `+=`.

    `compile`: of the programs of a device. `kernel`: of the calls of compiled code, summed over threads.

    `device_scored` bands were scored by OpenCL kernels, and `device_traced` alignments traced back: those of a search
    on a device as well, which is in none of the counts before. `device_kernel`, `upload` and `download` are the
    device's own times of its commands; queues may overlap.
    """

    calls: int = 0
    pairs: int = 0
    compile: int = 0
    kernel: int = 0
    device_scored: int = 0
    device_traced: int = 0
    device_kernel: int = 0
    upload: int = 0
    download: int = 0

    def __iadd__(self, other: Times) -> Times:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self
