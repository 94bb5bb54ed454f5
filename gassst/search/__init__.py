"""The whole-read search of one batch: filters, scored bands, selection, mapping quality."""
