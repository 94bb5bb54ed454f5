"""The device of a run over files: driven by the mapper, or by a process that looks for it while the run maps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gassst.gpu.choose import LateExtender
from gassst.gpu.devices import is_named
from gassst.mapping.batch_mapper import BatchMapper, device_search
from gassst.workers.layout import why_threads

if TYPE_CHECKING:
    from gassst.gpu.process import DeviceProcess, Job
    from gassst.gpu.server import DeviceServer

log = logging.getLogger("gassst")


@dataclass(frozen=True, eq=False, repr=False)
class RunDevice:
    """How a run uses a device.

    Attributes
    ----------
    mapper : BatchMapper
        That the run maps with: with compiled code where a process is to drive the device.
    is_late : bool
        Whether a process may look for the device while the run maps.
    is_served : bool
        Whether that process is to search batches, too, or to look up their seeds.
    with_mates : bool
        Whether reads have mates: the device looks up their seeds.
    started : DeviceProcess or None
        One that looks for the device already, for the first run that suits, and for those after it that search the
        same.
    """

    mapper: BatchMapper
    is_late: bool = False
    is_served: bool = False
    with_mates: bool = False
    started: DeviceProcess | None = None

    @classmethod
    def of(cls, mapper: BatchMapper, is_single: bool, started: DeviceProcess | None = None) -> RunDevice:
        """The device of a run of this mapper; `is_single`: over reads none of which has a mate.

        Raises DeviceError for a device that was named, cannot be had, and has to be found before the run.
        """
        if not isinstance(mapper.extender, LateExtender):
            return cls(mapper)
        if why_threads():
            made = mapper.extender.made
            return cls(
                mapper.replaced(extender=made, on_device=device_search(mapper.index, made, mapper.params))
            )
        compiled = mapper.replaced(extender=mapper.extender.compiled)
        return cls(compiled, True, _is_served(mapper, not is_single), not is_single, started)

    @property
    def is_ready(self) -> bool:
        """Whether the process of a run before has what this one searches on the device already."""
        if not self.is_served or self.started is None or not self.started.is_ready:
            return False
        return self.started.serves(self._job)

    @property
    def _job(self) -> Job:
        from gassst.gpu.process import Job

        return Job.of(self.mapper.index, self.mapper.params, self.with_mates)

    def server(self) -> DeviceServer | None:
        """The process that drives the device; one that only looks for it where a run that names it has no use for it.

        None where the system grants no process, and where nobody asked.
        """
        if not self.is_late:
            return None
        from gassst.gpu.server import DeviceServer
        from gassst.gpu.start import start

        index, params, named = self.mapper.index, self.mapper.params, is_named(self.mapper.params.device)
        is_new = self.started is None or self.started.can_be_told
        # The run of a sample before has found the device that was named, and ended the process.
        if not self.is_served and not (named and is_new):
            if self.started is not None:
                self.started.close()  # its memory on the device is of use to others
            return None
        if not self.is_served:
            log.info(
                "device %s: neither seeds are looked up nor reads searched there in such a run", params.device
            )
        job = self._job
        if self.started is not None and is_new and index.path is not None:
            if self.is_served:
                self.started.tell(job)
            return DeviceServer(self.started, named, is_kept=self.is_served)
        if self.started is not None and self.is_served:
            if self.started.serves(job):
                self.started.begin_again()
                return DeviceServer(self.started, named, is_kept=True)
            self.started.close()  # its memory on the device is of use to others
        try:
            return DeviceServer(start(params.device, params.threads, job if self.is_served else None), named)
        except OSError as error:
            log.warning("no process to drive the device: %s; continuing on the host", error.strerror or error)
            return None


def _is_served(mapper: BatchMapper, with_mates: bool) -> bool:
    """Whether a process of its own is to drive the device: it searches single reads, or looks up seeds of pairs."""
    from gassst.gpu.asked import is_looked_up, is_searched

    index, params = mapper.index, mapper.params
    if mapper.reference.alt is not None:
        return False
    if not with_mates:
        return is_searched(params, index, mapper.parts, mapper.cascade)
    return is_looked_up(index, mapper.parts)
