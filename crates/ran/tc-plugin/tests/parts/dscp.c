/* A classifier by differentiated services code point (RFC 2474). Its settings are pairs of a code point and a queue index, such
 * as "46=1 34=2"; all other packets go to the first queue. */
#include "ferric_tc.h"

#include <stdlib.h>

struct state {
    uint8_t place[64];
};

static int32_t init(void *at, const char *settings)
{
    struct state *state = at;
    while (*settings != '\0') {
        char *end;
        unsigned long dscp = strtoul(settings, &end, 10);
        if (end == settings || *end != '=' || dscp > 63)
            return 1;
        settings = end + 1;
        unsigned long place = strtoul(settings, &end, 10);
        if (end == settings || (*end != ' ' && *end != '\0') || place > 63)
            return 2;
        state->place[dscp] = (uint8_t)place;
        settings = *end == ' ' ? end + 1 : end;
    }
    return 0;
}

static int32_t classify(void *at, uint64_t now_ns, struct ferric_tc_packet packet, uint32_t queues)
{
    const struct state *state = at;
    (void)now_ns;
    (void)queues; /* a place that is not there is counted, and the first queue takes the packet */
    return state->place[packet.dscp & 63];
}

const struct ferric_tc_v1 ferric_tc_v1 = {
    .abi = FERRIC_TC_ABI,
    .octets = sizeof(struct ferric_tc_v1),
    .name = "dscp",
    .part = FERRIC_TC_CLASSIFIER,
    .state_octets = sizeof(struct state),
    .init = init,
    .classify = classify,
};
