/* What a base station may do wrong, in C and in C++: each call has a defined answer. Prints what is not as expected. */
#include <ferric.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static struct ferric_agent agent;

static int32_t subscribe(void *user, const struct ferric_subscription_request *request) {
    (void)user, (void)request;
    return 0;
}

/* A log line of the agent, from which calls that would wait for themselves are refused. */
static int logged;
static void calls_back(void *user, uint32_t level, const char *line) {
    (void)level, (void)line;
    struct ferric_agent *self = (struct ferric_agent *)user;
    logged++;
    EXPECT(ferric_agent_free(*self), FERRIC_ERROR_CALLBACK);
    EXPECT(ferric_agent_poll(*self, 0, NULL), FERRIC_ERROR_CALLBACK);
}

static volatile int polling = 1;
static void *poll_agent(void *unused) {
    while (polling) ferric_agent_poll(agent, 100, NULL);
    return unused;
}

int main(void) {
    struct ferric_error error;
    struct ferric_measurement measurement;
    memset(&measurement, 0, sizeof measurement);
    measurement.name = "DRB.UEThpDl", measurement.scope = FERRIC_SCOPE_CELL_AND_UE;
    measurement.kind = FERRIC_KIND_RATE, measurement.scale = 0.008;
    struct ferric_agent_config config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.plmn = "00101", config.ric = "tcp://127.0.0.1:9", config.gnb_id = 1;
    config.log = calls_back, config.log_user = &agent;

    /* configurations */
    EXPECT(ferric_agent_new(NULL, &agent, &error), FERRIC_ERROR_NULL);
    EXPECT(strcmp(error.text, "config is NULL"), 0);
    EXPECT(ferric_agent_new(&config, NULL, NULL), FERRIC_ERROR_NULL);
    struct ferric_agent_config wrong = config;
    wrong.size = 4;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.plmn = "1";
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    EXPECT(strncmp(error.text, "plmn \"1\"", 8), 0);
    wrong = config, wrong.plmn = NULL;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_NULL);
    wrong = config, wrong.ric = "nowhere";
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.gnb_id = 1 << 22;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.gnb_id_bits = 33;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.is_du = 1, wrong.gnb_du_id = 1ull << 36;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.e2ap_version = 400;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);
    wrong = config, wrong.log_level = 9;
    EXPECT(ferric_agent_new(&wrong, &agent, &error), FERRIC_ERROR_ARGUMENT);

    EXPECT(ferric_agent_new(&config, &agent, &error), FERRIC_OK);
    EXPECT(ferric_agent_start(agent, &error), FERRIC_ERROR_STATE); /* it has no RAN function */

    /* the table */
    struct ferric_kpm kpm;
    struct ferric_kpm_config table;
    memset(&table, 0, sizeof table);
    table.size = sizeof table, table.measurement_count = 1, table.measurements = &measurement, table.max_ues = 2;
    struct ferric_kpm_config wrong_table = table;
    wrong_table.max_ues = 0;
    EXPECT(ferric_agent_add_kpm(agent, &wrong_table, &kpm, &error), FERRIC_ERROR_ARGUMENT);
    wrong_table = table, wrong_table.measurements = NULL;
    EXPECT(ferric_agent_add_kpm(agent, &wrong_table, &kpm, &error), FERRIC_ERROR_NULL);
    wrong_table = table, wrong_table.nr_cell_identity = 1ull << 36;
    EXPECT(ferric_agent_add_kpm(agent, &wrong_table, &kpm, &error), FERRIC_ERROR_ARGUMENT);
    measurement.scale = 0;
    EXPECT(ferric_agent_add_kpm(agent, &table, &kpm, &error), FERRIC_ERROR_ARGUMENT);
    measurement.scale = 0.008, measurement.name = "";
    EXPECT(ferric_agent_add_kpm(agent, &table, &kpm, &error), FERRIC_ERROR_ARGUMENT);
    measurement.name = "DRB.UEThpDl";
    EXPECT(ferric_agent_add_kpm(agent, &table, &kpm, &error), FERRIC_OK);
    struct ferric_kpm second;
    EXPECT(ferric_agent_add_kpm(agent, &table, &second, &error), FERRIC_ERROR_ARGUMENT); /* the id is used */

    /* UEs: two rows, numbers of removed UEs */
    struct ferric_ue_identity identity;
    memset(&identity, 0, sizeof identity);
    identity.size = sizeof identity;
    struct ferric_ue ues[3], cell = {0};
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[0], &error), FERRIC_ERROR_ARGUMENT); /* no kind */
    identity.kind = FERRIC_UE_GNB, identity.amf_ue_ngap_id = 1ull << 40;
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[0], &error), FERRIC_ERROR_ARGUMENT);
    identity.amf_ue_ngap_id = 1, identity.slice_count = 9;
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[0], &error), FERRIC_ERROR_ARGUMENT);
    identity.slice_count = 1, identity.slices[0].has_sd = 1, identity.slices[0].sd = 1 << 24;
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[0], &error), FERRIC_ERROR_ARGUMENT);
    identity.slices[0].sd = 1;
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[0], &error), FERRIC_OK);
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[1], &error), FERRIC_OK);
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[2], &error), FERRIC_ERROR_LIMIT);
    EXPECT(ferric_kpm_count(kpm, ues[0], 0, 100), FERRIC_OK);
    EXPECT(ferric_kpm_count(kpm, cell, 0, 100), FERRIC_OK);
    EXPECT(ferric_kpm_count(kpm, ues[0], 1, 100), FERRIC_ERROR_ARGUMENT);
    EXPECT(ferric_kpm_count(kpm, ues[0], 0, 1.0 / 0.0), FERRIC_ERROR_ARGUMENT);
    EXPECT(ferric_kpm_sample(kpm, ues[0], 0, 1), FERRIC_ERROR_ARGUMENT); /* another kind */
    EXPECT(ferric_kpm_remove_ue(kpm, ues[0]), FERRIC_OK);
    EXPECT(ferric_kpm_remove_ue(kpm, ues[0]), FERRIC_ERROR_UE);
    EXPECT(ferric_kpm_remove_ue(kpm, cell), FERRIC_ERROR_UE);
    EXPECT(ferric_kpm_count(kpm, ues[0], 0, 100), FERRIC_ERROR_UE);
    EXPECT(ferric_kpm_add_ue(kpm, &identity, &ues[2], &error), FERRIC_OK);
    EXPECT(ferric_kpm_count(kpm, ues[0], 0, 100), FERRIC_ERROR_UE); /* its row has another UE */

    /* a RAN function and its reporter */
    struct ferric_function function;
    struct ferric_function_config own;
    memset(&own, 0, sizeof own);
    own.size = sizeof own, own.id = 99, own.revision = 1, own.oid = "1.3.6.1.4.1.32473.1.99";
    EXPECT(ferric_agent_add_function(agent, &own, &function, &error), FERRIC_ERROR_NULL); /* no callback */
    own.subscribe = subscribe, own.id = 4096;
    EXPECT(ferric_agent_add_function(agent, &own, &function, &error), FERRIC_ERROR_ARGUMENT);
    own.id = 99, own.oid = "thermometer";
    EXPECT(ferric_agent_add_function(agent, &own, &function, &error), FERRIC_ERROR_ARGUMENT);
    own.oid = "1.3.6.1.4.1.32473.1.99";
    EXPECT(ferric_agent_add_function(agent, &own, &function, &error), FERRIC_OK);
    struct ferric_reporter reporter;
    EXPECT(ferric_reporter_new(function, 1, &reporter, &error), FERRIC_ERROR_ARGUMENT);
    EXPECT(ferric_reporter_new(function, FERRIC_REPORTER_MIN_OCTETS, &reporter, &error), FERRIC_OK);
    static const uint8_t message[1024] = {0};
    struct ferric_subscription nobody;
    memset(&nobody, 0, sizeof nobody);
    int reports = 0;
    while (reports < 100 && ferric_report(reporter, nobody, 1, NULL, 0, message, sizeof message) == FERRIC_OK) reports++;
    EXPECT(reports, 3); /* the ring has 4,096 octets */
    EXPECT(ferric_report(reporter, nobody, 1, NULL, 0, message, sizeof message), FERRIC_ERROR_FULL);
    EXPECT(ferric_reporter_dropped(reporter), 2);
    EXPECT(ferric_report(reporter, nobody, 1, NULL, 1, message, sizeof message), FERRIC_ERROR_NULL);
    EXPECT(ferric_report(reporter, nobody, 1, NULL, 0, message, (size_t)-1), FERRIC_ERROR_ARGUMENT);

    /* one thread polls: another may not. Lines of the log, in which calls back are refused, come from this thread. */
    EXPECT(ferric_agent_poll(agent, 0, &error), FERRIC_OK);
    EXPECT(ferric_agent_add_function(agent, &own, &function, &error), FERRIC_ERROR_STATE);
    EXPECT(ferric_agent_start(agent, &error), FERRIC_ERROR_STATE);
    for (int at = 0; at < 50 && logged == 0; at++) EXPECT(ferric_agent_poll(agent, 100, &error), FERRIC_OK);
    EXPECT(logged > 0, 1); /* the RIC is not reachable */
    pthread_t thread;
    pthread_create(&thread, NULL, poll_agent, NULL);
    int status = FERRIC_OK;
    for (int at = 0; at < 20000 && status == FERRIC_OK; at++) status = ferric_agent_poll(agent, 0, NULL), usleep(500);
    EXPECT(status, FERRIC_ERROR_BUSY);
    polling = 0;
    pthread_join(thread, NULL);

    /* a forked process: the agent is not its own */
    pid_t child = fork();
    if (child == 0) {
        EXPECT(ferric_agent_poll(agent, 0, NULL), FERRIC_ERROR_FORKED);
        EXPECT(ferric_agent_free(agent), FERRIC_OK);
        fflush(stdout);
        _exit(failures != 0);
    }
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
    EXPECT(ferric_agent_poll(agent, 0, &error), FERRIC_OK);

    /* handles after their objects were freed, in any order */
    EXPECT(ferric_agent_free(agent), FERRIC_OK);
    EXPECT(ferric_agent_free(agent), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_agent_poll(agent, 0, &error), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_agent_fd(agent), -1);
    EXPECT(ferric_agent_timeout_ms(agent), -1);
    EXPECT(ferric_agent_is_connected(agent), 0);
    EXPECT(ferric_report(reporter, nobody, 1, NULL, 0, message, 1), FERRIC_OK); /* into a ring without a reader */
    EXPECT(ferric_kpm_count(kpm, ues[1], 0, 100), FERRIC_OK);
    EXPECT(ferric_reporter_free(reporter), FERRIC_OK);
    EXPECT(ferric_report(reporter, nobody, 1, NULL, 0, message, 1), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_function_free(function), FERRIC_OK);
    EXPECT(ferric_kpm_free(kpm), FERRIC_OK);
    EXPECT(ferric_kpm_count(kpm, ues[1], 0, 100), FERRIC_ERROR_HANDLE);
    EXPECT(strcmp(ferric_status_text(FERRIC_ERROR_FULL), "the ring has no room: the report was dropped"), 0);
    return failures != 0;
}
