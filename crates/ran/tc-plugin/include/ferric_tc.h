/* A part of traffic control in a shared object: a classifier, a queue's discipline, a scheduler or a pacer. What each of
 * them is for stands in docs/traffic-control.md.
 *
 * The object exports one symbol, `ferric_tc_v1`, of type `struct ferric_tc_v1`, which never changes while it is loaded.
 * Objects are loaded by name: `dscp` comes from `dscp.so`.
 *
 * Build it with: cc -shared -fPIC -o dscp.so dscp.c
 */
#ifndef FERRIC_TC_H
#define FERRIC_TC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of `abi`. Another one is another layout. */
#define FERRIC_TC_ABI 1

/* The most that `state_octets` may be. */
#define FERRIC_TC_MAX_STATE 65536

/* The values of `part`. */
#define FERRIC_TC_CLASSIFIER 1
#define FERRIC_TC_QUEUE 2
#define FERRIC_TC_SCHEDULER 3
#define FERRIC_TC_PACER 4

/* What is to become of a packet: it goes its way; so it does, with a congestion mark (one that cannot be marked is dropped);
 * it goes no further. */
#define FERRIC_TC_PASS 0
#define FERRIC_TC_MARK 1
#define FERRIC_TC_DROP 2

/* The values of `ecn`: it cannot be marked; it can; it is. */
#define FERRIC_TC_NOT_ECT 0
#define FERRIC_TC_ECT 1
#define FERRIC_TC_CE 2

/* A packet's headers. Addresses and ports are numbers in the machine's order; ports are 0 where the protocol has none. */
struct ferric_tc_packet {
    uint64_t waited_ns; /* since it came */
    uint32_t source;
    uint32_t destination;
    uint32_t octets; /* with all headers of layers 3 and up */
    uint16_t source_port;
    uint16_t destination_port;
    uint8_t protocol;
    uint8_t dscp;
    uint8_t ecn;
    uint8_t reserved;
};

/* What waits. */
struct ferric_tc_amount {
    uint64_t packets;
    uint64_t octets;
};

/* A queue as a scheduler sees it. */
struct ferric_tc_queue {
    uint64_t head_waited_ns; /* how long the first packet has waited */
    uint32_t id;
    uint32_t ready; /* 1 where it can give a packet, else 0 */
    uint32_t packets;
    uint32_t octets;
    uint32_t head_octets; /* the first packet's; 0 where none waits */
    uint32_t reserved;
};

/* What stands below traffic control. */
struct ferric_tc_below {
    uint32_t rlc_octets;      /* what waits in RLC */
    uint32_t rlc_room_octets; /* what its buffer still takes */
};

/* What became of an opportunity to transmit. */
struct ferric_tc_transmission {
    uint64_t waiting_octets;  /* what waited in traffic control and could have gone on, had the pacer let it */
    uint32_t octets;          /* what the MAC drained from RLC */
    uint32_t rlc_was_emptied; /* 1 where RLC was then empty: the opportunity might have taken more */
};

/* Each bearer has an instance of its own (each queue, where the part is a queue's discipline). `state` is the instance's:
 * `state_octets` octets, zero at first, aligned for every type, in the same place as long as the instance is there, and gone
 * without notice. An instance is called from one thread at a time; several may be called at once, so that the object must
 * not write anything else. Pointers that a function gets are good until it returns. Time is in nanoseconds since the model
 * began.
 *
 * An answer out of range loses no packet: it is counted as a fault, and the built-in default answers. */
struct ferric_tc_v1 {
    /* FERRIC_TC_ABI */
    uint32_t abi;
    /* sizeof(struct ferric_tc_v1), as it was compiled */
    uint32_t octets;
    /* The name, which is its file's: 1 to 64 characters of a-z, 0-9, '-' and '.'. */
    const char *name;
    /* FERRIC_TC_CLASSIFIER, ... */
    uint32_t part;
    /* What an instance needs: 0 to FERRIC_TC_MAX_STATE. */
    uint32_t state_octets;

    /* A new instance. `settings` is what the configuration says to it, possibly nothing; it ends with a zero. Returns 0, or
     * another number where they make no sense. May be NULL. */
    int32_t (*init)(void *state, const char *settings);

    /* A classifier: the place of the packet's queue, from 0 to below `queues`, in the order of the configuration. The default
     * is 0. */
    int32_t (*classify)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, uint32_t queues);

    /* A queue's discipline: FERRIC_TC_PASS (the default), ... for a packet that comes, with what waits before it. May be
     * NULL. */
    int32_t (*arriving)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting);
    /* The same for the packet that is to go on, with what waits behind it. Where it is dropped, the next one is asked about at
     * once. */
    int32_t (*leaving)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting);

    /* A scheduler: the place of the queue that gives the next packet. It must be ready, which one at least is. By default it
     * is the next in turn. */
    int32_t (*choose)(void *state, uint64_t now_ns, const struct ferric_tc_queue *queues, uint32_t count);
    /* The queue there has given a packet. May be NULL. */
    void (*served)(void *state, uint32_t place, uint32_t octets);

    /* A pacer: how many octets may go on. While this is above 0, a packet goes on, whatever its length, and the pacer is asked
     * again. Below 0 is out of range; by default everything goes on. A pacer that says 0 for a second while RLC is empty and
     * packets wait is not listened to until it says otherwise. */
    int64_t (*allowance)(void *state, uint64_t now_ns, struct ferric_tc_below below);
    /* A packet went on. May be NULL. */
    void (*handed_on)(void *state, uint64_t now_ns, uint32_t octets);
    /* The bearer had an opportunity to transmit. May be NULL. */
    void (*transmitted)(void *state, uint64_t now_ns, struct ferric_tc_transmission transmission);
};

#ifdef __cplusplus
}
#endif

#endif
