/* A small base station: a slot thread that serves two UEs, E2SM-KPM, and a RAN function of its own that reports each 10th slot.
 *
 * cc -I include gnb.c -lferric -lpthread -o gnb && ./gnb tcp://127.0.0.1:36421
 */
#include <ferric.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THROUGHPUT, DELAY, PRBS };
static const struct ferric_measurement measurements[] = {
    [THROUGHPUT] = {"DRB.UEThpDl", FERRIC_SCOPE_CELL_AND_UE, FERRIC_KIND_RATE, 0.008, 0}, /* octets as kbit/s */
    [DELAY] = {"DRB.RlcSduDelayDl", FERRIC_SCOPE_CELL_AND_UE, FERRIC_KIND_MEAN, 10, 1},   /* ms as 0.1 ms */
    [PRBS] = {"RRU.PrbUsedDl", FERRIC_SCOPE_CELL, FERRIC_KIND_CURRENT, 1, 0},
};
static struct ferric_kpm kpm;
static struct ferric_ue ues[2];
static struct ferric_reporter reporter;
static struct ferric_subscription subscriber; /* of the last subscription to the RAN function */
static atomic_int subscribed, running = 1;

/* Neither waits nor allocates: everything that it calls is for real-time threads. */
static void *slots(void *unused) {
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned slot = 0; atomic_load(&running); slot++) {
        for (unsigned at = 0; at < 2; at++) {
            ferric_kpm_count(kpm, ues[at], THROUGHPUT, 1250 * (at + 1)); /* 10 and 20 Mbit/s */
            ferric_kpm_sample(kpm, ues[at], DELAY, 2.5);
        }
        ferric_kpm_set(kpm, (struct ferric_ue){0}, PRBS, 42);
        if (slot % 10 == 0 && atomic_load(&subscribed)) {
            uint8_t message[4] = {slot >> 24, slot >> 16, slot >> 8, slot};
            ferric_report(reporter, subscriber, 1, NULL, 0, message, sizeof message);
        }
        next.tv_nsec += 1000000;
        if (next.tv_nsec >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return unused;
}

static int32_t subscribe(void *user, const struct ferric_subscription_request *request) {
    (void)user;
    if (request->event_trigger_octets != 0) return FERRIC_CAUSE_EVENT_TRIGGER_NOT_SUPPORTED;
    if (atomic_load(&subscribed)) return FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT;
    for (size_t at = 0; at < request->action_count; at++)
        if (request->actions[at].id != 1) request->actions[at].cause = FERRIC_CAUSE_ACTION_NOT_SUPPORTED;
    subscriber = request->subscription;
    atomic_store(&subscribed, 1);
    return 0;
}

static void unsubscribe(void *user, struct ferric_subscription subscription) {
    (void)user, (void)subscription;
    atomic_store(&subscribed, 0);
}

static void print(void *user, uint32_t level, const char *line) { (void)user, fprintf(stderr, "%u %s\n", level, line); }
static void stop(int signal) { (void)signal, atomic_store(&running, 0); }

static void check(int32_t status, const struct ferric_error *error) {
    if (status == FERRIC_OK) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int count, char **arguments) {
    struct ferric_error error;
    struct ferric_agent agent;
    struct ferric_function function;
    struct ferric_agent_config config = {sizeof config, .plmn = "00101", .gnb_id = 0xc0, .log = print};
    config.ric = count > 1 ? arguments[1] : "tcp://127.0.0.1:36421";
    struct ferric_kpm_config table = {sizeof table, 3, measurements, .nr_cell_identity = 0xc001, .max_ues = 64};
    struct ferric_function_config own = {sizeof own, 99, 1, "1.3.6.1.4.1.32473.1.99", .subscribe = subscribe};
    own.unsubscribe = unsubscribe;
    check(ferric_agent_new(&config, &agent, &error), &error);
    check(ferric_agent_add_kpm(agent, &table, &kpm, &error), &error);
    check(ferric_agent_add_function(agent, &own, &function, &error), &error);
    check(ferric_reporter_new(function, 65536, &reporter, &error), &error);
    for (unsigned at = 0; at < 2; at++) {
        struct ferric_ue_identity identity = {sizeof identity, FERRIC_UE_GNB, .amf_ue_ngap_id = 7 + at};
        check(ferric_kpm_add_ue(kpm, &identity, &ues[at], &error), &error);
    }
    signal(SIGTERM, stop), signal(SIGINT, stop);
    pthread_t thread;
    pthread_create(&thread, NULL, slots, NULL);
    while (atomic_load(&running)) check(ferric_agent_poll(agent, 100, &error), &error);
    pthread_join(thread, NULL);
    ferric_reporter_free(reporter), ferric_function_free(function), ferric_kpm_free(kpm);
    check(ferric_agent_free(agent), &error);
    return 0;
}
