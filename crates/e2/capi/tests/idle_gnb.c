/* A base station that takes controls of E2SM-RC when it ends, and not before: idle_gnb ADDRESS. */
#include <ferric.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t running = 1;
static void stop(int signal) { (void)signal, running = 0; }

static int failures;
#define EXPECT(call, expected)                                                                      \
    do {                                                                                            \
        long got = (long)(call);                                                                    \
        if (got != (expected)) failures++, fprintf(stderr, "%d: %s: %ld\n", __LINE__, #call, got);  \
    } while (0)

int main(int count, char **arguments) {
    struct ferric_agent agent;
    struct ferric_kpm kpm;
    struct ferric_rc rc, second;
    struct ferric_ue ue;
    struct ferric_rc_control control;
    struct ferric_error error;
    static const struct ferric_measurement measurement = {"DRB.UEThpDl", FERRIC_SCOPE_CELL_AND_UE, FERRIC_KIND_RATE, 1, 0};
    struct ferric_agent_config config = {sizeof config, .plmn = "00101", .gnb_id = 0xc0};
    config.ric = count > 1 ? arguments[1] : NULL;
    struct ferric_kpm_config table = {sizeof table, 1, &measurement, .nr_cell_identity = 0xc001, .max_ues = 1};
    struct ferric_rc_config rcs = {.size = sizeof rcs, .actions = FERRIC_RC_DRX}, wrong;
    struct ferric_ue_identity identity = {sizeof identity, FERRIC_UE_GNB, .amf_ue_ngap_id = 7};
    struct ferric_kpm no_table = {0};
    EXPECT(ferric_agent_new(&config, &agent, &error), FERRIC_OK);
    EXPECT(ferric_agent_add_kpm(agent, &table, &kpm, &error), FERRIC_OK);

    /* configurations */
    EXPECT(ferric_agent_add_rc(agent, kpm, NULL, &rc, &error), FERRIC_ERROR_NULL);
    EXPECT(ferric_agent_add_rc(agent, kpm, &rcs, NULL, &error), FERRIC_ERROR_NULL);
    wrong = rcs, wrong.actions = 0;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    wrong.actions = 16;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    EXPECT(strcmp(error.field, "actions"), 0);
    wrong = rcs, wrong.queue_length = FERRIC_RC_MAX_QUEUE + 1;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    wrong = rcs, wrong.answer_ms = 4001;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    wrong = rcs, wrong.revision = 400;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    wrong = rcs, wrong.function_id = 4096;
    EXPECT(ferric_agent_add_rc(agent, kpm, &wrong, &rc, &error), FERRIC_ERROR_ARGUMENT);
    EXPECT(ferric_agent_add_rc(agent, no_table, &rcs, &rc, &error), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_agent_add_rc(agent, kpm, &rcs, &rc, &error), FERRIC_OK);
    EXPECT(ferric_agent_add_rc(agent, kpm, &rcs, &second, &error), FERRIC_ERROR_ARGUMENT); /* the id is used */
    EXPECT(ferric_rc_next(rc, NULL), FERRIC_ERROR_NULL);
    EXPECT(ferric_rc_next(rc, &control), FERRIC_ERROR_EMPTY);
    EXPECT(ferric_rc_answer(rc, 99, 0, "of no control"), FERRIC_OK);

    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ue, &error), FERRIC_OK);
    signal(SIGTERM, stop);
    while (running) EXPECT(ferric_agent_poll(agent, 100, &error), FERRIC_OK);
    EXPECT(ferric_rc_next(rc, &control), FERRIC_ERROR_EMPTY); /* its time is over */
    EXPECT(ferric_rc_free(rc), FERRIC_OK);
    EXPECT(ferric_rc_free(rc), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_rc_next(rc, &control), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_rc_answer(rc, 1, 0, NULL), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_kpm_free(kpm), FERRIC_OK);
    EXPECT(ferric_agent_free(agent), FERRIC_OK);
    return failures != 0;
}
