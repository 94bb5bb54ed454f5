"""Files in and out: reads, reference, records."""
