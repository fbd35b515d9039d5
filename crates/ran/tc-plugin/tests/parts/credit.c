/* A pacer that passes as much as was drained from RLC, and 1000 octets more whenever RLC ran empty while packets waited. */
#include "ferric_tc.h"

struct state {
    int64_t credit_octets;
    uint64_t last_ns;
};

static int32_t init(void *at, const char *settings)
{
    struct state *state = at;
    (void)settings;
    state->credit_octets = 1000;
    return 0;
}

static int64_t allowance(void *at, uint64_t now_ns, struct ferric_tc_below below)
{
    const struct state *state = at;
    if (now_ns < state->last_ns || below.rlc_room_octets == 0)
        return -1;
    return state->credit_octets > 0 ? state->credit_octets : 0;
}

static void handed_on(void *at, uint64_t now_ns, uint32_t octets)
{
    struct state *state = at;
    state->credit_octets -= octets;
    state->last_ns = now_ns;
}

static void transmitted(void *at, uint64_t now_ns, struct ferric_tc_transmission transmission)
{
    struct state *state = at;
    state->credit_octets += transmission.octets;
    if (transmission.rlc_was_emptied && transmission.waiting_octets >= 500)
        state->credit_octets += 1000;
    state->last_ns = now_ns;
}

const struct ferric_tc_v1 ferric_tc_v1 = {
    .abi = FERRIC_TC_ABI,
    .octets = sizeof(struct ferric_tc_v1),
    .name = "credit",
    .part = FERRIC_TC_PACER,
    .state_octets = sizeof(struct state),
    .init = init,
    .allowance = allowance,
    .handed_on = handed_on,
    .transmitted = transmitted,
};
