/* The best local alignments that touch the diagonals of whole reads (`score_wholes` of local_bands.pxi), one a work-item. Goes
 * behind search.h. Bands of 16 diagonals and more come first, and twice as wide ones where those prove nothing.
 *
 * Rows are those of `collect_bands`, most of them; rows ushort[3, most]. costs int[]: the fields of whole_costs,
 * and what an alignment loses at least that leaves a band of each width. */
#include "local_item.h"
#define LEAVING 5

/* Total of an alignment without an error. */
static int perfect(__global const short *scoring, uint length)
{
    return (int)length * (scoring[0] >> 1) + scoring[6];
}

/* Whether the host may score a row (`select_places`): not one with the diagonal of a better one, nor all of a read with many. Rows
 * of the read are those before `stop`. */
static int is_scored(__global const uint *columns, __global const ushort *scores, uint most, uint i, uint flip, uint stop,
                     uint number)
{
    uint end = columns[most + i] + scores[most + i], better = 0;
    for (uint j = stop - number; j < stop && better < MOST_SCORED; j++) {
        uint differ = columns[j] ^ columns[i];
        if (scores[j] > scores[i] || (scores[j] == scores[i] && (differ ? (columns[i] & 1) == flip
                                                                        : columns[most + j] >= columns[most + i])))
            continue;
        better = differ || columns[most + j] + scores[most + j] != end ? better + 1 : MOST_SCORED;
    }
    return better < MOST_SCORED;
}

/* The ends of plain rows, and the other ones listed by the width of their bands: listed uint[ENDS_WIDTHS, most]. What is below
 * the best of its read, or has wider bands, stays with the host. number uint[n], next uint[n]: rows of each read, and behind. */
__kernel void start_ends(READ_ARGS, __global const short *plan, REFERENCE_ARGS, __global uint *counters, uint most,
                         __global const uint *columns, __global const short *scoring, __global const int *costs, uint n_reads,
                         __global const ushort *state, __global const ushort *scores, __global const uint *number,
                         __global const uint *next, __global whole_end *ends, __global uint *listed)
{
    planes_t reads = READS, reference = REFERENCE;
    __local uint sums[GROUP];
    const whole_costs of_wholes = {costs[0], costs[1], costs[2], costs[3], costs[4]};
    uint i = get_global_id(0), width = ENDS_WIDTHS;
    if (i < fitting(counters, KEPT, most)) {
        uint read = columns[i] >> 1, length = read_length[read], edits = scores[i];
        whole_end end = {0, 0, 0, 0, 0};
        if (edits <= STATE(BEST, read) + (uint)of_wholes.worse &&
            is_scored(columns, scores, most, i, read_flip[read], next[read], number[read])) {
            whole_start start = start_of_whole(reference, (long)columns[most + i] + scores[most + i], reads,
                                               first_base(read_row[read], columns[i], length), length, edits, edits, of_wholes);
            end.touched = end.diagonal = (uint)start.touched;
            end.key = (ushort)(2 * (perfect(scoring, length) - start.loss));
            end.rows = (ushort)length;
            if (!start.is_plain) {
                for (width = 0; width < ENDS_WIDTHS - 1 && costs[LEAVING + width] <= start.loss; width++)
                    ;
                if (costs[LEAVING + width] <= start.loss && (16 << width) < 64 * PLAN(BAND_WORDS, length)) {
                    end.touched = 0;
                    width = ENDS_WIDTHS;
                }
            }
        }
        ends[i] = end;
    }
    for (uint w = 0; w < ENDS_WIDTHS; w++) {
        uint to = reserve(width == w, sums, counters + ENDS + w, counters + OVERFLOW);
        if (width == w)
            listed[(ulong)w * most + to] = i;
    }
}

/* The ends of rows with bands of a width. Those that prove nothing are listed behind those of the next one. */
__kernel void score_ends(READ_ARGS, __global const short *plan, REFERENCE_ARGS, __global uint *counters, uint most,
                         __global const uint *columns, __global const short *scoring, __global const int *costs, uint width,
                         __global uint *listed, __global uint *first, __global ushort *rows, __global whole_end *ends)
{
    const local_scoring of_bases = {scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], scoring[5], scoring[6], scoring[7]};
    const band_batch batch = {reference_planes, reference_rows, read_planes, read_row, read_length, columns, first, most};
    const local_ends out = {rows, rows + most, rows + 2 * (ulong)most};
    const uint n = counters[ENDS + width], diagonals = 16 << width;
    listed += (ulong)width * most;
    for (uint j = get_global_id(0); j < n; j += get_global_size(0)) {
        uint i = listed[j], length = read_length[columns[i] >> 1];
        whole_end end = ends[i];
        first[i] = end.touched - diagonals / 2;
        local_score(&batch, &of_bases, diagonals, i, &out);
        end.key = out.key[i];
        end.rows = out.rows[i];
        end.diagonal = first[i] + out.end[i];
        end.scored++;
        if (perfect(scoring, length) - (end.rows ? end.key >> 1 : 0) >= costs[LEAVING + width] &&
            diagonals < 64 * (uint)PLAN(BAND_WORDS, length)) {
            if (width + 1 < ENDS_WIDTHS)
                listed[most + atomic_inc(counters + ENDS + width + 1)] = i;
            else
                end.touched = 0;
        }
        ends[i] = end;
    }
}
