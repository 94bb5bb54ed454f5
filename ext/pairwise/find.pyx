"""All places of short patterns in a text: `find.h`. The search releases the GIL."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "find.h" nogil:
    enum:
        FIND_MOST_LETTERS
        FIND_BETWEEN
        FIND_OTHER
    ctypedef struct find_pattern:
        uint64_t equal[5]
        uint8_t allowed[64]
        int32_t letters
    ctypedef struct find_event:
        int64_t end
        int32_t pattern, edits
    ctypedef struct find_word:
        int32_t pattern, rest
    ctypedef struct find_job:
        const find_pattern *patterns
        int32_t n_patterns, edits, most_letters, word
        const uint32_t *pairs
        const uint32_t *start
        const find_word *entries
        const int32_t *everywhere
        int32_t n_everywhere
        const uint8_t *codes
        const uint8_t *is_letter
        volatile int *stop
    ctypedef struct find_events:
        find_event *events
        int64_t n, room
        int failed
    ctypedef struct find_listing:
        const uint8_t *allowed
        int32_t begin, end, word
        uint32_t *seen
        uint32_t mark
        uint32_t *codes
        int64_t n, most
    ctypedef struct find_last:
        int64_t end
        int32_t edits, falling
    void find_list(find_listing *to, int32_t at, int32_t left, int32_t edits, uint32_t code) noexcept
    int64_t find_search(const find_job *job, const uint8_t *text, int64_t letters, int64_t begin, int64_t end,
                        int64_t *known, find_events *found) noexcept
    void find_sort(find_events *found) noexcept
    void find_minima(const find_event *events, int64_t n, find_last *last, int32_t n_patterns, int64_t until,
                     find_events *to) noexcept
    int find_path(const find_job *job, const uint8_t *text, int64_t least, const find_event *at, uint32_t *runs,
                  int64_t *begin) noexcept

MOST_LETTERS = FIND_MOST_LETTERS
BETWEEN = bytes([FIND_BETWEEN])
EVENT = np.dtype([("end", np.int64), ("pattern", np.int32), ("edits", np.int32)])
LAST = np.dtype([("end", np.int64), ("edits", np.int32), ("falling", np.int32)])


cdef taken(find_events *found):
    """The events as an array of EVENT; their memory is given back."""
    cdef uint8_t[::1] to
    try:
        if found.failed:
            raise MemoryError("no memory for the places of patterns")
        events = np.empty(found.n, EVENT)
        if found.n:
            to = events.view(np.uint8)
            memcpy(&to[0], found.events, found.n * sizeof(find_event))
        return events
    finally:
        free(found.events)


cdef class Finder:
    """Patterns, and the words of a text that lead to them.

    Parameters
    ----------
    allowed : uint8[n, 64]
        Bits of the bases A, C, T, G that each letter of a pattern stands for.
    lengths : int32[n]
        Letters of each.
    edits : int
        The most that a place may have; less than any length.
    word : int
        Letters of a word, up to 12.
    codes, is_letter : uint8[256]
        Of bytes: 0 to 3 for A, C, T, G, else 4; and whether it may stand in a text.
    """

    cdef find_job job
    cdef find_pattern *patterns
    cdef int stopped
    cdef readonly object everywhere, entries, start, pairs
    cdef const uint8_t[::1] codes, is_letter
    cdef const int32_t[::1] all_of_them, those

    def __cinit__(self, const uint8_t[:, ::1] allowed, const int32_t[::1] lengths, int32_t edits, int32_t word,
                  const uint8_t[::1] codes, const uint8_t[::1] is_letter):
        cdef int32_t n = allowed.shape[0], p, i, base
        cdef find_pattern *pattern
        if allowed.shape[1] != FIND_MOST_LETTERS or lengths.shape[0] != n or not 0 < word <= 12:
            raise ValueError("sizes of the arrays of patterns disagree")
        if n == 0 or not 0 < np.min(lengths) <= np.max(lengths) <= FIND_MOST_LETTERS or not 0 <= edits < np.min(lengths):
            raise ValueError("lengths of patterns")
        if codes.shape[0] != 256 or is_letter.shape[0] != 256 or np.max(codes) > FIND_OTHER:
            raise ValueError("codes of bytes")
        self.patterns = <find_pattern *>PyMem_Malloc(n * sizeof(find_pattern))
        if self.patterns == NULL:
            raise MemoryError("no memory for the patterns")
        memset(self.patterns, 0, n * sizeof(find_pattern))
        for p in range(n):
            pattern = &self.patterns[p]
            pattern.letters = lengths[p]
            for i in range(lengths[p]):
                pattern.allowed[i] = allowed[p, i]
                for base in range(4):
                    if allowed[p, i] >> base & 1:
                        pattern.equal[base] |= <uint64_t>1 << i
        self.codes, self.is_letter = codes, is_letter
        self.job.patterns, self.job.n_patterns, self.job.edits = self.patterns, n, edits
        self.job.most_letters, self.job.word = np.max(lengths), word
        self.job.codes, self.job.is_letter, self.job.stop = &codes[0], &is_letter[0], &self.stopped
        self.all_of_them = np.arange(n, dtype=np.int32)
        self.those = self.all_of_them
        self.job.everywhere, self.job.n_everywhere = &self.all_of_them[0], n
        self.everywhere = np.arange(n, dtype=np.int32)
        self.pairs = np.zeros(max(1, 1 << 2 * word + 2 >> 5), np.uint32)
        self.start = np.zeros((1 << 2 * word) + 1, np.uint32)
        self.entries = np.zeros((0, 2), np.int32)
        self.point()

    def __dealloc__(self):
        PyMem_Free(self.patterns)

    cdef point(self):
        cdef const uint32_t[::1] pairs = self.pairs, start = self.start
        cdef const int32_t[:, ::1] entries = self.entries
        self.job.pairs, self.job.start = &pairs[0], &start[0]
        self.job.entries = <const find_word *>&entries[0, 0] if entries.shape[0] else NULL

    def list_words(self, double most_share):
        """Lists the words of all patterns but those that would be hit at more than this share of positions, times their
        length: these are left for everywhere."""
        cdef int32_t word = self.job.word, edits = self.job.edits, p, pieces, each, begin, end, at, i, best_at
        cdef uint32_t mark = 0
        cdef int64_t most, n_codes = (<int64_t>1) << 2 * word
        cdef double choices, fewest
        cdef uint32_t[::1] seen = np.zeros(n_codes, np.uint32), room = np.empty(n_codes, np.uint32)
        cdef find_listing to
        everywhere, all_codes, all_entries = [], [], []
        to.word, to.seen, to.codes = word, &seen[0], &room[0]
        for p in range(self.job.n_patterns):
            m = self.patterns[p].letters
            to.allowed = self.patterns[p].allowed
            most = min(n_codes, <int64_t>(most_share * n_codes / (m + 2 * edits)))
            chosen = None
            # One edit a piece mostly needs the fewest words; the first count bounds the work of the others.
            fewest_pieces = {edits // pieces: pieces for pieces in range(edits + 1, 0, -1)}
            for share in sorted(fewest_pieces, key=lambda share: abs(share - 1)):
                pieces, each = fewest_pieces[share], share
                codes, entries, count = [], [], 0
                for i in range(pieces):
                    begin, end = m * i // pieces, m * (i + 1) // pieces
                    at, fewest = end, -1
                    # The end of a word within the piece: where the fewest words stand for its letters.
                    for best_at in range(end, begin, -1):
                        if best_at - begin < min(word, end - begin):
                            break
                        choices = 1
                        for j in range(max(begin, best_at - word), best_at):
                            choices *= bin(self.patterns[p].allowed[j]).count("1")
                        if fewest < 0 or choices < fewest:
                            at, fewest = best_at, choices
                    mark += 1
                    to.begin, to.end, to.mark, to.n, to.most = begin, at, mark, 0, most - count
                    with nogil:
                        find_list(&to, at, word, each, 0)
                    count += to.n
                    if count > most:
                        break
                    codes.append(np.asarray(room[: to.n]).copy())
                    entries.append(np.full((to.n, 2), (p, m - at), np.int32))
                if count <= most:
                    chosen, most = (codes, entries), count
            if chosen is None:
                everywhere.append(p)
            else:
                all_codes += chosen[0]
                all_entries += chosen[1]
        self.everywhere = np.array(everywhere, np.int32)
        codes = np.concatenate([np.zeros(0, np.uint32), *all_codes])
        order = np.argsort(codes, kind="stable")
        self.entries = np.ascontiguousarray(np.concatenate([np.zeros((0, 2), np.int32), *all_entries])[order])
        self.start = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_codes))]).astype(np.uint32)
        listed = np.unique(codes).astype(np.int64)
        flags = np.zeros(4 * n_codes, np.uint8)
        for base in range(4):
            flags[listed + base * n_codes] = 1
            flags[listed * 4 + base] = 1
        self.pairs = np.packbits(flags, bitorder="little").view("<u4").astype(np.uint32)
        self.those = self.everywhere
        self.job.n_everywhere = len(everywhere)
        self.job.everywhere = &self.those[0] if len(everywhere) else NULL
        self.point()

    def stop(self):
        """Ends all searches soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def search(self, const uint8_t[::1] text, int64_t begin, int64_t end):
        """EVENT[n] with all `end` in begin + 1 .. end, by pattern and end; and where a byte is no letter, else -1."""
        cdef find_events found
        cdef int64_t *known
        cdef int64_t wrong = -1
        if not 0 <= begin <= end <= text.shape[0] or end == 0:
            raise ValueError("a part of the text")
        memset(&found, 0, sizeof(found))
        known = <int64_t *>malloc(2 * self.job.n_patterns * sizeof(int64_t))
        if known == NULL:
            raise MemoryError("no memory for the places of patterns")
        with nogil:
            wrong = find_search(&self.job, &text[0], text.shape[0], begin, end, known, &found)
            find_sort(&found)
        free(known)
        return taken(&found), wrong

    def minima(self, events, last, int64_t until):
        """EVENT[n], the local minima of EVENT[n] by pattern and end, up to those that may go on behind `until`.

        LAST[patterns] says what came before, and is brought up to date.
        """
        cdef find_events found
        cdef const uint8_t[::1] given = np.ascontiguousarray(events).view(np.uint8)
        cdef uint8_t[::1] before = last.view(np.uint8)
        if events.dtype != EVENT or last.dtype != LAST or len(last) != self.job.n_patterns:
            raise ValueError("arrays of EVENT and LAST")
        memset(&found, 0, sizeof(found))
        find_minima(<const find_event *>&given[0] if len(events) else NULL, len(events), <find_last *>&before[0],
                    self.job.n_patterns, until, &found)
        return taken(&found)

    def paths(self, const uint8_t[::1] text, const int64_t[::1] least, events):
        """Trace EVENT[n] back, each no further than to int64[n] `least`.

        Returns begins int64[n], runs as in BAM uint32[r], and where the runs of each begin int64[n + 1].
        """
        cdef int64_t n = len(events), i, total = 0
        cdef int count, r
        cdef int64_t[::1] begin = np.empty(n, np.int64), start = np.zeros(n + 1, np.int64)
        cdef uint32_t[::1] runs = np.empty(n * (2 * self.job.edits + 1), np.uint32)
        cdef uint32_t[2 * 128] backwards
        cdef const uint8_t[::1] given = np.ascontiguousarray(events).view(np.uint8)
        cdef const find_event *these
        if events.dtype != EVENT or least.shape[0] != n:
            raise ValueError("arrays of EVENT and begins")
        if n:
            these = <const find_event *>&given[0]
            if np.min(events["end"]) < 1 or np.max(events["end"]) > text.shape[0]:
                raise ValueError("ends in the text")
            with nogil:
                for i in range(n):
                    count = find_path(&self.job, &text[0], least[i], &these[i], backwards, &begin[i])
                    for r in range(count):
                        runs[total + r] = backwards[count - 1 - r]
                    total += count
                    start[i + 1] = total
        return begin.base, runs.base[:total].copy(), start.base
