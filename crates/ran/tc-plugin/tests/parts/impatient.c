/* A queue discipline that drops packets which have waited for more than 10 ms, and marks packets that arrive when more than
 * 1000 octets wait. */
#include "ferric_tc.h"

static int32_t on_enqueue(void *at, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting)
{
    (void)at;
    (void)now_ns;
    (void)packet;
    return waiting.octets > 1000 ? FERRIC_TC_MARK : FERRIC_TC_PASS;
}

static int32_t on_dequeue(void *at, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting)
{
    (void)at;
    (void)now_ns;
    (void)waiting;
    return packet.waited_ns > 10000000 ? FERRIC_TC_DROP : FERRIC_TC_PASS;
}

const struct ferric_tc_v1 ferric_tc_v1 = {
    .abi = FERRIC_TC_ABI,
    .octets = sizeof(struct ferric_tc_v1),
    .name = "impatient",
    .part = FERRIC_TC_QUEUE,
    .on_enqueue = on_enqueue,
    .on_dequeue = on_dequeue,
};
