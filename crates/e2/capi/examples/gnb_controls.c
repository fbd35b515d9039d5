/* A small base station whose slot thread executes controls of E2SM-RC: DRX cycles, quotas of network slices, and handovers to the
 * cell 00000c002. With a second argument the agent's thread executes them.
 *
 * cc gnb_controls.c $(pkg-config --cflags --libs ferric) -lpthread -o gnb_controls && ./gnb_controls tcp://127.0.0.1:36421
 */
#include <ferric.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OTHER_CELL = 0xc002, UES = 2 };
static const struct ferric_measurement measurements[] = {
    {"DRB.UEThpDl", FERRIC_SCOPE_CELL_AND_UE, FERRIC_KIND_RATE, 0.008, 0}, /* octets as kbit/s */
};
static struct ferric_kpm kpm;
static struct ferric_rc rc;
static struct ferric_ue ues[UES];
static atomic_int cycle_ms[UES], leaving[UES], max_percent = 100, running = 1;

/* Neither waits nor allocates: it may run in a slot. */
static int32_t execute(const struct ferric_rc_control *control, const char **reason) {
    int ue = 0;
    while (ue < UES && ues[ue].id != control->ue.id) ue++;
    if (control->action == FERRIC_RC_SLICE_QUOTA) {
        if (control->quotas[0].max_percent == 0) return *reason = "no slice is without a share", FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE;
        if (control->quotas[0].max_percent != FERRIC_RC_ABSENT) atomic_store(&max_percent, (int)control->quotas[0].max_percent);
        return 0;
    }
    if (ue == UES) return *reason = "the UE has left", FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE;
    if (control->action == FERRIC_RC_DRX) return atomic_store(&cycle_ms[ue], (int)control->long_cycle_ms), 0;
    if (control->target_cell != OTHER_CELL) return *reason = "no such neighbour cell", FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE;
    atomic_store(&leaving[ue], 1);
    return 0;
}

static int32_t execute_at_once(void *user, const struct ferric_rc_control *control, char *reason) {
    const char *text = "";
    int32_t cause = execute(control, &text);
    (void)user, strncpy(reason, text, FERRIC_RC_REASON_OCTETS - 1);
    return cause;
}

static void *slots(void *unused) {
    struct timespec next;
    struct ferric_rc_control control;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (atomic_load(&running)) {
        while (ferric_rc_next(rc, &control) == FERRIC_OK) {
            const char *reason = NULL;
            int32_t cause = execute(&control, &reason);
            ferric_rc_answer(rc, control.id, cause, reason);
        }
        for (int ue = 0; ue < UES; ue++) ferric_kpm_count(kpm, ues[ue], 0, 12.5 * atomic_load(&max_percent));
        next.tv_nsec += 1000000;
        if (next.tv_nsec >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return unused;
}

static void stop(int signal) { (void)signal, atomic_store(&running, 0); }

static void check(int32_t status, const struct ferric_error *error) {
    if (status != FERRIC_OK) fprintf(stderr, "%s: %s\n", error->field, error->text), exit(1);
}

int main(int count, char **arguments) {
    struct ferric_error error;
    struct ferric_agent agent;
    struct ferric_agent_config config = {sizeof config, .plmn = "00101", .gnb_id = 0xc0};
    config.ric = count > 1 ? arguments[1] : "tcp://127.0.0.1:36421";
    struct ferric_kpm_config table = {sizeof table, 1, measurements, .nr_cell_identity = 0xc001, .max_ues = 64};
    struct ferric_rc_config controls = {.size = sizeof controls};
    controls.actions = FERRIC_RC_HANDOVER + FERRIC_RC_DRX + FERRIC_RC_SLICE_QUOTA;
    if (count > 2) controls.control = execute_at_once;
    check(ferric_agent_new(&config, &agent, &error), &error);
    check(ferric_agent_add_kpm(agent, &table, &kpm, &error), &error);
    check(ferric_agent_add_rc(agent, kpm, &controls, &rc, &error), &error);
    for (int ue = 0; ue < UES; ue++) {
        struct ferric_ue_identity identity = {sizeof identity, FERRIC_UE_GNB, .amf_ue_ngap_id = 7 + ue};
        check(ferric_kpm_add_ue(kpm, &identity, &ues[ue], &error), &error);
    }
    signal(SIGTERM, stop), signal(SIGINT, stop);
    pthread_t thread;
    pthread_create(&thread, NULL, slots, NULL);
    while (atomic_load(&running)) {
        check(ferric_agent_poll(agent, 10, &error), &error);
        for (int ue = 0; ue < UES; ue++) /* removing a UE is for the control plane */
            if (atomic_exchange(&leaving[ue], 0)) ferric_kpm_remove_ue(kpm, ues[ue]);
    }
    pthread_join(thread, NULL);
    printf("DRX %d %d ms, quota %d %%\n", cycle_ms[0], cycle_ms[1], max_percent);
    ferric_rc_free(rc), ferric_kpm_free(kpm), check(ferric_agent_free(agent), &error);
    return 0;
}
