"""Workers: threads of this process, or of several processes that share memory with it.

Threads of one Python process wait for each other, since they share the lock of the interpreter, and for new pages of
memory (lab/workers.md). So a run with many threads spreads them over processes of two threads each. A run submits the
same calls to either kind of workers.

Who owns what
-------------
* The parent owns every file: it cuts the input into batches, numbers them by order of submission, and writes what
  comes back. SAM and unsorted BAM a thread of its own writes, so that workers get new batches meanwhile. It finds
  where records end in a file that is not compressed, and workers read their part of it anew. Other input it reads for
  them, and inflates what is not BGZF. It also owns the shared memory, and knows which of its regions are free.
* A worker process owns nothing that outlives it. It inherits one *work* object by `fork`, with the index mapped and
  the parameters frozen. Every thread of it takes a call, makes it, and sends the result.
* The samples of a sheet share their workers, and calls of the next sample follow those of the one before
  (`gassst.runs.file_runs`). Pages of the index that a process has touched stay mapped, which for a genome of 3.1 Gb
  is a third of a sample's time. What differs from sample to sample, such as the header, is an argument of calls.
* A call and its result lie in one region of shared memory. It belongs to the parent, then to the worker that has
  taken the call, then to the parent again. It is free once nothing refers to the result any more.

How it moves
------------
* Calls and results are pickled. Their arrays and texts lie beside the pickle in the region (protocol 5), and are used
  where they lie. An argument that is part of an earlier result goes as its place in shared memory, without a copy.
* A value for many calls goes into a region once (`Workers.share`), and each process reads it once.
* Two pipes carry messages of a few bytes: the number and size of a region. All threads of all processes read one
  pipe, so whoever is free takes the next call. Both kinds of messages are written in one piece and never split.
* Each process has a third pipe of its own, for its log lines. What a call has counted is part of its result.

Invariant
---------
The records of a run do not depend on the workers. A call reads the work object and its arguments, nothing else; what
a run learns on the way, such as insert sizes, is an argument of later calls. Results are used in the order of calls.

Memory is bounded by the calls under way, which a run limits: there is one region for each, as large as the largest
call or result that it has held. So a call gets the smallest free region that need not grow for it. A quarter as many
results as there are threads may wait to be written.

What can go wrong
-----------------
* A call raises: the parent raises the same exception in its turn, with the worker's traceback as its cause.
* A process dies (killed, out of memory, a crash): its own pipe ends. All calls under way, and all later ones, raise
  `WorkerError`, which says how it died. The other processes are killed. Nobody waits for a result that cannot come.
* The parent stops early (an error, a closed generator): it kills the processes, which own nothing worth saving.
* The parent dies: the kernel kills the processes (Linux: PR_SET_PDEATHSIG).
* SIGINT from a terminal reaches all: the processes ignore it, and the parent decides.

`fork` copies one thread only. Locks that other threads hold at that time stay held in the copy. So no processes
are started where there are threads that gassst does not know, nor on systems other than Linux. There threads do the
work (`layout.why_threads`).
"""
