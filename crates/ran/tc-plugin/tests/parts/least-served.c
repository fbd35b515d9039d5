/* A scheduler that selects the queue which has sent the fewest octets. */
#include "ferric_tc.h"

struct state {
    uint64_t octets[64];
};

static int32_t choose(void *at, uint64_t now_ns, const struct ferric_tc_queue *queues, uint32_t count)
{
    const struct state *state = at;
    int32_t least = -1;
    (void)now_ns;
    for (uint32_t place = 0; place < count; place++)
        if (queues[place].ready && (least < 0 || state->octets[place] < state->octets[least]))
            least = (int32_t)place;
    return least;
}

static void served(void *at, uint32_t place, uint32_t octets)
{
    struct state *state = at;
    state->octets[place] += octets;
}

const struct ferric_tc_v1 ferric_tc_v1 = {
    .abi = FERRIC_TC_ABI,
    .octets = sizeof(struct ferric_tc_v1),
    .name = "least-served",
    .part = FERRIC_TC_SCHEDULER,
    .state_octets = sizeof(struct state),
    .choose = choose,
    .served = served,
};
