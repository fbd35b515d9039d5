/* The C ABI of plug-ins for traffic control: a classifier, a queue discipline, a scheduler or a pacer in a shared object.
 * docs/traffic-control.md explains them.
 *
 * The object exports one symbol, `ferric_tc_v1`, of type `struct ferric_tc_v1`, which must not change while it is loaded.
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

/* The value of `abi`. It changes with the layout. */
#define FERRIC_TC_ABI 1

/* The maximum of `state_octets`. */
#define FERRIC_TC_MAX_STATE 65536

/* The values of `part`. */
#define FERRIC_TC_CLASSIFIER 1
#define FERRIC_TC_QUEUE 2
#define FERRIC_TC_SCHEDULER 3
#define FERRIC_TC_PACER 4

/* Verdicts on a packet: pass it; pass it with a congestion mark (a packet that cannot be marked is dropped); drop it. */
#define FERRIC_TC_PASS 0
#define FERRIC_TC_MARK 1
#define FERRIC_TC_DROP 2

/* The values of `ecn`: not ECN-capable, ECN-capable, congestion experienced. */
#define FERRIC_TC_NOT_ECT 0
#define FERRIC_TC_ECT 1
#define FERRIC_TC_CE 2

/* The headers of a packet. Addresses and ports are in host byte order; ports are 0 for protocols without ports. */
struct ferric_tc_packet {
    uint64_t waited_ns; /* since its arrival */
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

/* The packets that wait in a queue. */
struct ferric_tc_amount {
    uint64_t packets;
    uint64_t octets;
};

/* The state of a queue, for a scheduler. */
struct ferric_tc_queue {
    uint64_t head_waited_ns; /* how long the first packet has waited */
    uint32_t id;
    uint32_t ready; /* 1 if it can send a packet, else 0 */
    uint32_t packets;
    uint32_t octets;
    uint32_t head_octets; /* length of the first packet; 0 if none waits */
    uint32_t reserved;
};

/* The RLC buffer below traffic control. */
struct ferric_tc_below {
    uint32_t rlc_octets;      /* octets in the buffer */
    uint32_t rlc_room_octets; /* free space of the buffer */
};

/* The use of a transmission opportunity. */
struct ferric_tc_transmission {
    uint64_t waiting_octets;  /* octets that waited in traffic control only because of the pacer */
    uint32_t octets;          /* octets that the MAC drained from RLC */
    uint32_t rlc_was_emptied; /* 1 if RLC was empty afterwards: the opportunity might have carried more */
};

/* Each bearer has its own instance (each queue, for a queue discipline). `state` belongs to the instance: `state_octets`
 * octets, initially zero, aligned for every type, at the same address during the life of the instance, and freed without
 * notice. An instance is called from one thread at a time; several instances may be called at once, so the object must not
 * write anything else. Pointers that a function gets are valid until it returns. Time is in nanoseconds since the start of the
 * model.
 *
 * An invalid return value loses no packet: it is counted as a fault, and the built-in default applies. */
struct ferric_tc_v1 {
    /* FERRIC_TC_ABI */
    uint32_t abi;
    /* sizeof(struct ferric_tc_v1) at compile time */
    uint32_t octets;
    /* The name, equal to that of the file: 1 to 64 characters of a-z, 0-9, '-' and '.'. */
    const char *name;
    /* FERRIC_TC_CLASSIFIER, ... */
    uint32_t part;
    /* The size of an instance's state: 0 to FERRIC_TC_MAX_STATE. */
    uint32_t state_octets;

    /* Initializes a new instance. `settings` is the possibly empty text of the configuration, ending with a zero. Returns 0, or
     * another number if the settings are invalid. May be NULL. */
    int32_t (*init)(void *state, const char *settings);

    /* Classifier: returns the index of the packet's queue, from 0 to `queues` - 1, in the order of the configuration. The default
     * is 0. */
    int32_t (*classify)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, uint32_t queues);

    /* Queue discipline: returns FERRIC_TC_PASS (the default), ... for an arriving packet; `waiting` is before it. May be NULL. */
    int32_t (*on_enqueue)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting);
    /* Queue discipline: the same for the packet that is to be sent; `waiting` is behind it. If it is dropped, the function is
     * called for the next one at once. */
    int32_t (*on_dequeue)(void *state, uint64_t now_ns, struct ferric_tc_packet packet, struct ferric_tc_amount waiting);

    /* Scheduler: returns the index of the queue that sends the next packet. The queue must be ready; at least one is. The default
     * is the next ready queue in round robin. */
    int32_t (*choose)(void *state, uint64_t now_ns, const struct ferric_tc_queue *queues, uint32_t count);
    /* Scheduler: the queue at this index has sent a packet. May be NULL. */
    void (*served)(void *state, uint32_t place, uint32_t octets);

    /* Pacer: returns the number of octets that may be passed to RLC. While it is above 0, a packet of any length is passed, and
     * the function is called again. A negative value is invalid; the default is no limit. If a pacer returns 0 for a second
     * while RLC is empty and packets wait, it is ignored until it returns another value. */
    int64_t (*allowance)(void *state, uint64_t now_ns, struct ferric_tc_below below);
    /* Pacer: a packet was passed to RLC. May be NULL. */
    void (*handed_on)(void *state, uint64_t now_ns, uint32_t octets);
    /* Pacer: the bearer had a transmission opportunity. May be NULL. */
    void (*transmitted)(void *state, uint64_t now_ns, struct ferric_tc_transmission transmission);
};

#ifdef __cplusplus
}
#endif

#endif
