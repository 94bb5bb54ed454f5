"""Workers: the threads of a run, which share its index, its plan and what is kept of it.

Who owns what
-------------
* The main thread owns every file: it cuts the input into batches, numbers them by order of submission, and writes what
  comes back. A thread of its own writes SAM and unsorted BAM, so that workers get new batches meanwhile. Of a file that
  is not compressed the main thread finds where records end, and workers read their part of it. Other input it reads for
  them; workers inflate what is BGZF.
* A worker takes a call, makes it, and gives back its result. What it keeps from batch to batch, such as memory of the
  search, belongs to its thread (`SearchPlan.kept`).
* The samples of a sheet share their workers, and calls of the next sample follow those of the one before
  (`gassst.runs.file_runs`).

Threads of one interpreter take turns at its lock. A worker holds it for a moment between two compiled calls. Each wait
for it costs some 40 us, so a batch has few such calls, and shorter loops keep the lock.

Invariant
---------
The records of a run do not depend on the workers. A call reads its arguments, nothing else; what
a run learns on the way, such as insert sizes, is an argument of later calls. Results are used in the order of calls.

Memory is bounded by the calls under way, which a run limits. A quarter as many results as there are threads may wait to
be written.

What can go wrong
-----------------
* A call raises: the main thread raises the same exception in its turn.
* The main thread stops early (an error, a closed generator): calls that have not begun are dropped.
* A crash of compiled code ends the process, with one line (`_core.bus_error`).
"""
