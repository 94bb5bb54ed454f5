/* A row of the narrow band (ext/isa/bound_band.h): 32 diagonals, or a vector of them. `differ`: on which the bases do. */
typedef struct {
    bound_vec vp, vn; /* the next diagonal has one error more, less */
    bound_vec first;  /* errors on the first diagonal */
} bound_state;

ISA_INLINE void bound_row(bound_vec differ, bound_state *state)
{
    const bound_vec vp = state->vp, vn = state->vn;
    const bound_vec sum = (vp & ~differ) + vp;
    const bound_vec d0 = vn | (sum ^ vp) | ~differ, next = d0 >> 1;
    const bound_vec hp = vn | ~(d0 | vp), hn = d0 & vp;
    state->first += ~d0 & 1;
    state->vp = hn | ~(next | hp);
    state->vn = next & hp;
}
