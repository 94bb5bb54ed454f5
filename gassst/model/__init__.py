"""Words that all rooms share: parameters, layouts of arrays, batches of reads, counters of a run."""
