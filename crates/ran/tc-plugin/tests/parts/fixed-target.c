/* A pacer that keeps a fixed number of octets in RLC: its settings, such as "30000". */
#include "ferric_tc.h"

#include <stdlib.h>

struct state {
    uint32_t target_octets;
};

static int32_t init(void *at, const char *settings)
{
    struct state *state = at;
    char *end;
    unsigned long octets = strtoul(settings, &end, 10);
    if (end == settings || *end != '\0' || octets == 0 || octets > UINT32_MAX)
        return 1;
    state->target_octets = (uint32_t)octets;
    return 0;
}

static int64_t allowance(void *at, uint64_t now_ns, struct ferric_tc_below below)
{
    const struct state *state = at;
    (void)now_ns;
    if (below.rlc_octets >= state->target_octets)
        return 0;
    return state->target_octets - below.rlc_octets;
}

const struct ferric_tc_v1 ferric_tc_v1 = {
    .abi = FERRIC_TC_ABI,
    .octets = sizeof(struct ferric_tc_v1),
    .name = "fixed-target",
    .part = FERRIC_TC_PACER,
    .state_octets = sizeof(struct state),
    .init = init,
    .allowance = allowance,
};
