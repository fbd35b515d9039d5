/* What an xApp may do wrong, in C and in C++: each call has a defined answer. Prints what is not as expected.
 * misuse_xapp ADDRESS: of a RIC without nodes. */
#include <ferric.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

/* The same, with the name of the argument at fault. */
#define REFUSED(call, expected, named)                                                              \
    do {                                                                                            \
        EXPECT(call, expected);                                                                     \
        if (strcmp(error.field, named)) failures++, printf("%d: %s: %s\n", __LINE__, error.field, error.text); \
    } while (0)

static struct ferric_error error;
static struct ferric_xapp xapp;
static struct ferric_xapp_kpm kpm;
static struct ferric_xapp_events events;
static volatile sig_atomic_t signals;

static void on_signal(int number) { (void)number, signals++; }

/* Waits in a read until the stream is freed, or a signal arrives. */
static void *read_kpm(void *status) {
    struct ferric_xapp_record record;
    double value;
    *(int32_t *)status = ferric_xapp_kpm_read(kpm, -1, &record, &value, 1, NULL);
    return NULL;
}

static void *read_events(void *status) {
    struct ferric_xapp_event event;
    do *(int32_t *)status = ferric_xapp_events_read(events, -1, &event, NULL);
    while (*(int32_t *)status == FERRIC_OK);
    return NULL;
}

/* A log line, from which calls that would wait for the thread that logs are refused. */
static int logged;
static void calls_back(void *user, uint32_t level, const char *line) {
    size_t count;
    struct ferric_error inner;
    (void)user, (void)level, (void)line;
    logged++;
    EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &count, &inner), FERRIC_ERROR_CALLBACK);
    EXPECT(ferric_xapp_free(xapp), FERRIC_ERROR_CALLBACK);
}

static void connecting(const char *address) {
    static const char latin1[] = "caf\xe9";
    char longer[66];
    memset(longer, 'x', 65), longer[65] = 0;
    struct ferric_xapp_config config, wrong;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.ric = address, config.name = "misuse", config.deadline_ms = 2000;
    REFUSED(ferric_xapp_connect(&config, NULL, &error), FERRIC_ERROR_NULL, "out");
    wrong = config, wrong.size = 8;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "size");
    wrong = config, wrong.ric = "nowhere";
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "ric");
    wrong = config, wrong.ric = latin1;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "ric");
    wrong = config, wrong.name = longer;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "name");
    wrong = config, wrong.deadline_ms = 86400001;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "deadline_ms");
    wrong = config, wrong.connect_timeout_ms = 86400001;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "connect_timeout_ms");
    wrong = config, wrong.log = calls_back, wrong.log_level = 9;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "log_level");
    wrong = config, wrong.ric = "tcp://127.0.0.1:9", wrong.connect_timeout_ms = 1;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_CONNECT, "");
    wrong = config, wrong.tls_ca = "/nowhere", wrong.tls_key = "/nowhere";
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "tls_certificate");
    /* the file cannot be read, or the library is built without TLS: the text says which */
    wrong.tls_certificate = "/nowhere";
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_ARGUMENT, "tls_ca");
    EXPECT(strstr(error.text, "/nowhere") != NULL || strstr(error.text, "built without TLS") != NULL, 1);
    wrong = config, wrong.ric = "tls://127.0.0.1:9", wrong.connect_timeout_ms = 1;
    REFUSED(ferric_xapp_connect(&wrong, &xapp, &error), FERRIC_ERROR_CONNECT, "");
    EXPECT(strstr(error.text, "a tls:// address") != NULL, 1);
    EXPECT(ferric_xapp_connect(&config, &xapp, &error), FERRIC_OK);
    EXPECT(strlen(error.text), 0);
}

static void verbs(void) {
    struct ferric_xapp_ue ue;
    struct ferric_xapp other;
    size_t count = 7;
    static const uint32_t ids[] = {1};
    struct ferric_xapp_share share;
    memset(&share, 0, sizeof share);
    EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &count, &error), FERRIC_OK);
    EXPECT(count, 0);
    REFUSED(ferric_xapp_nodes(xapp, NULL, 1, &count, &error), FERRIC_ERROR_NULL, "out");
    REFUSED(ferric_xapp_cells(xapp, NULL, 0, NULL, &error), FERRIC_ERROR_NULL, "count");
    EXPECT(ferric_xapp_ues(xapp, NULL, 0, &count, NULL), FERRIC_OK);
    REFUSED(ferric_xapp_await_node(xapp, NULL, &error), FERRIC_ERROR_NULL, "node");
    EXPECT(ferric_xapp_await_node(xapp, "gnb-00101-e00", &error), FERRIC_ERROR_UNKNOWN);
    REFUSED(ferric_xapp_find_ue(xapp, "amf:x", &ue, &error), FERRIC_ERROR_ARGUMENT, "ue");
    EXPECT(ferric_xapp_find_ue(xapp, "amf:17", &ue, &error), FERRIC_ERROR_UNKNOWN);
    REFUSED(ferric_xapp_with_deadline(xapp, 0, &other, &error), FERRIC_ERROR_ARGUMENT, "deadline_ms");
    REFUSED(ferric_xapp_verified(xapp, 86400001, &other, &error), FERRIC_ERROR_ARGUMENT, "within_ms");
    REFUSED(ferric_xapp_ue_handover(xapp, NULL, "1", NULL, &error), FERRIC_ERROR_NULL, "ue");
    REFUSED(ferric_xapp_ue_handover(xapp, "amf:1", NULL, NULL, &error), FERRIC_ERROR_NULL, "cell");
    EXPECT(ferric_xapp_ue_slice(xapp, "amf:17", 1, NULL, &error), FERRIC_ERROR_UNKNOWN);
    REFUSED(ferric_xapp_ue_drx(xapp, "amf:17", 70000, NULL, &error), FERRIC_ERROR_ARGUMENT, "cycle_ms");
    struct ferric_xapp_qos qos;
    memset(&qos, 0, sizeof qos);
    qos.size = sizeof qos, qos.has_five_qi = 2;
    REFUSED(ferric_xapp_ue_qos(xapp, "amf:17", &qos, NULL, &error), FERRIC_ERROR_ARGUMENT, "has_five_qi");
    qos.has_five_qi = 0, qos.priority = 256;
    REFUSED(ferric_xapp_ue_qos(xapp, "amf:17", &qos, NULL, &error), FERRIC_ERROR_ARGUMENT, "priority");
    struct ferric_xapp_quota quota;
    memset(&quota, 0, sizeof quota);
    quota.size = sizeof quota, quota.max_percent = 101;
    REFUSED(ferric_xapp_quota(xapp, NULL, "1", &quota, NULL, &error), FERRIC_ERROR_ARGUMENT, "max_percent");
    quota.max_percent = 100;
    REFUSED(ferric_xapp_quota(xapp, NULL, "x", &quota, NULL, &error), FERRIC_ERROR_ARGUMENT, "slice");
    EXPECT(ferric_xapp_quota(xapp, NULL, "1", &quota, NULL, &error), FERRIC_ERROR_NOT_OFFERED);
    REFUSED(ferric_xapp_slices_set(xapp, NULL, 2, &share, 1, NULL, &error), FERRIC_ERROR_ARGUMENT, "direction");
    REFUSED(ferric_xapp_slices_set(xapp, NULL, 0, &share, 1025, NULL, &error), FERRIC_ERROR_ARGUMENT, "shares");
    REFUSED(ferric_xapp_slices_set(xapp, NULL, 0, NULL, 1, NULL, &error), FERRIC_ERROR_NULL, "shares");
    REFUSED(ferric_xapp_slices_set(xapp, NULL, 0, &share, 1, NULL, &error), FERRIC_ERROR_ARGUMENT, "share_percent");
    REFUSED(ferric_xapp_slices_remove(xapp, NULL, 0, ids, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "ids");
    EXPECT(ferric_xapp_slices_remove(xapp, NULL, 0, ids, 1, NULL, &error), FERRIC_ERROR_NOT_OFFERED);
    struct ferric_xapp_queue queue;
    memset(&queue, 0, sizeof queue);
    queue.size = sizeof queue, queue.kind = 3;
    REFUSED(ferric_xapp_tc_add_queue(xapp, NULL, &queue, NULL, &error), FERRIC_ERROR_ARGUMENT, "kind");
    struct ferric_xapp_flow flow;
    memset(&flow, 0, sizeof flow);
    flow.size = sizeof flow;
    REFUSED(ferric_xapp_tc_add_filter(xapp, NULL, &flow, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "flow");
    flow.source = "10.0.0";
    REFUSED(ferric_xapp_tc_add_filter(xapp, NULL, &flow, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "source");
    flow.source = NULL, flow.source_port = 65536;
    REFUSED(ferric_xapp_tc_add_filter(xapp, NULL, &flow, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "source_port");
    REFUSED(ferric_xapp_tc_pace(xapp, NULL, 2, NULL, &error), FERRIC_ERROR_ARGUMENT, "is_on");
    REFUSED(ferric_xapp_tc_modify_queue(xapp, NULL, 0, &queue, NULL, &error), FERRIC_ERROR_ARGUMENT, "kind");
    REFUSED(ferric_xapp_tc_modify_queue(xapp, NULL, 0, NULL, NULL, &error), FERRIC_ERROR_NULL, "queue");
    REFUSED(ferric_xapp_tc_modify_filter(xapp, NULL, 0, &flow, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "source_port");
    struct ferric_xapp_policer policer;
    memset(&policer, 0, sizeof policer);
    policer.size = sizeof policer, policer.is_active = 2;
    REFUSED(ferric_xapp_tc_modify_policer(xapp, NULL, &policer, NULL, &error), FERRIC_ERROR_ARGUMENT, "is_active");
    policer.size = 4;
    REFUSED(ferric_xapp_tc_modify_policer(xapp, NULL, &policer, NULL, &error), FERRIC_ERROR_ARGUMENT, "size");
    struct ferric_xapp_shaper shaper;
    memset(&shaper, 0, sizeof shaper);
    shaper.size = sizeof shaper, shaper.is_active = 2;
    REFUSED(ferric_xapp_tc_modify_shaper(xapp, NULL, &shaper, NULL, &error), FERRIC_ERROR_ARGUMENT, "is_active");
    REFUSED(ferric_xapp_tc_modify_scheduler(xapp, NULL, 3, NULL, 0, NULL, &error), FERRIC_ERROR_ARGUMENT, "kind");
    REFUSED(ferric_xapp_tc_modify_scheduler(xapp, NULL, 1, NULL, 1, NULL, &error), FERRIC_ERROR_NULL, "values");
    REFUSED(ferric_xapp_tc_modify_scheduler(xapp, NULL, 1, NULL, 257, NULL, &error), FERRIC_ERROR_ARGUMENT, "values");
    struct ferric_xapp_handover none = {0};
    EXPECT(ferric_xapp_handover_accept(none, NULL, &error), FERRIC_ERROR_HANDLE);
    REFUSED(ferric_xapp_handover_accept_to(none, NULL, NULL, &error), FERRIC_ERROR_NULL, "cell");
    EXPECT(ferric_xapp_handover_deny(none, NULL, NULL), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_handover_free(none), FERRIC_ERROR_HANDLE);
}

static void streams(void) {
    static const char latin1[] = "caf\xe9";
    const char *names[] = {"DRB.UEThpDl"};
    struct ferric_xapp_kpm_config config, wrong;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.period_ms = 100, config.measurements = names, config.measurement_count = 1;
    REFUSED(ferric_xapp_kpm_new(xapp, NULL, &kpm, &error), FERRIC_ERROR_NULL, "config");
    wrong = config, wrong.measurement_count = 0;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "measurements");
    wrong.measurement_count = FERRIC_XAPP_MAX_MEASUREMENTS + 1;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "measurements");
    wrong = config, wrong.measurements = NULL;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_NULL, "measurements");
    wrong = config, names[0] = NULL;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_NULL, "measurements");
    names[0] = latin1;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "measurements");
    names[0] = "DRB.UEThpDl", wrong.period_ms = 0;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "period_ms");
    wrong = config, wrong.whole_node = 2;
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "whole_node");
    wrong.whole_node = 1, wrong.cell = "1";
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "request");
    wrong.whole_node = 0, wrong.cell = "x";
    REFUSED(ferric_xapp_kpm_new(xapp, &wrong, &kpm, &error), FERRIC_ERROR_ARGUMENT, "cell");
    EXPECT(ferric_xapp_kpm_new(xapp, &config, &kpm, &error), FERRIC_OK);

    struct ferric_xapp_record record;
    struct ferric_xapp_columns columns;
    struct ferric_xapp_batch batch;
    double value;
    EXPECT(ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, &error), FERRIC_ERROR_TIMEOUT);
    EXPECT(ferric_xapp_kpm_read(kpm, 20, &record, &value, 1, NULL), FERRIC_ERROR_TIMEOUT);
    REFUSED(ferric_xapp_kpm_read(kpm, 0, NULL, &value, 1, &error), FERRIC_ERROR_NULL, "out");
    REFUSED(ferric_xapp_kpm_read(kpm, 0, &record, NULL, 1, &error), FERRIC_ERROR_NULL, "values");
    REFUSED(ferric_xapp_kpm_read(kpm, 0, &record, &value, 0, &error), FERRIC_ERROR_ARGUMENT, "value_count");
    struct pollfd descriptor;
    descriptor.fd = ferric_xapp_kpm_fd(kpm), descriptor.events = POLLIN;
    EXPECT(poll(&descriptor, 1, 0), 0);
    EXPECT(ferric_xapp_batch_new(NULL, NULL), FERRIC_ERROR_NULL);
    EXPECT(ferric_xapp_batch_new(&batch, &error), FERRIC_OK);
    EXPECT(ferric_xapp_kpm_read_batch(kpm, 0, batch, &columns, &error), FERRIC_ERROR_TIMEOUT);
    EXPECT(columns.count, 0);
    EXPECT(ferric_xapp_batch_free(batch), FERRIC_OK);
    EXPECT(ferric_xapp_batch_free(batch), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_read_batch(kpm, 0, batch, &columns, &error), FERRIC_ERROR_HANDLE);

    /* handles of other types */
    struct ferric_xapp_kpm wrong_kpm;
    struct ferric_xapp wrong_xapp;
    wrong_kpm.id = xapp.id, wrong_xapp.id = kpm.id;
    EXPECT(ferric_xapp_kpm_read(wrong_kpm, 0, &record, &value, 1, NULL), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_fd(wrong_kpm), -1);
    EXPECT(ferric_xapp_free(wrong_xapp), FERRIC_ERROR_HANDLE);

    /* one thread reads: another may not; a signal interrupts the wait; the end of the stream wakes its reader */
    pthread_t thread;
    int32_t status = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, read_kpm, &status);
    for (int at = 0; at < 10000 && ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, NULL) != FERRIC_ERROR_BUSY; at++) usleep(500);
    EXPECT(ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, NULL), FERRIC_ERROR_BUSY);
    usleep(100000); /* the reader waits */
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    EXPECT(status, FERRIC_ERROR_INTERRUPTED);
    EXPECT(signals, 1);
    pthread_create(&thread, NULL, read_kpm, &status);
    for (int at = 0; at < 10000 && ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, NULL) != FERRIC_ERROR_BUSY; at++) usleep(500);
    EXPECT(ferric_xapp_kpm_free(kpm), FERRIC_OK);
    pthread_join(thread, NULL);
    EXPECT(status, FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_free(kpm), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, NULL), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_lost(kpm), 0);
    EXPECT(ferric_xapp_kpm_new(xapp, &config, &kpm, &error), FERRIC_OK);
}

static void rrc_messages(void) {
    static const char *kinds[] = {"MeasurementReport", "nr:UL-DCCH"};
    struct ferric_xapp_rrc_messages messages = {0};
    struct ferric_xapp_rrc_message message;
    unsigned char octets[8];
    REFUSED(ferric_xapp_rrc_messages_new(xapp, NULL, 1, &messages, &error), FERRIC_ERROR_NULL, "kinds");
    REFUSED(ferric_xapp_rrc_messages_new(xapp, kinds, 0, &messages, &error), FERRIC_ERROR_ARGUMENT, "kinds");
    REFUSED(ferric_xapp_rrc_messages_new(xapp, kinds, 2, &messages, &error), FERRIC_ERROR_ARGUMENT, "kinds");
    REFUSED(ferric_xapp_rrc_messages_new(xapp, kinds, FERRIC_XAPP_MAX_RRC_KINDS + 1, &messages, &error), FERRIC_ERROR_ARGUMENT,
            "kinds");
    kinds[1] = NULL;
    REFUSED(ferric_xapp_rrc_messages_new(xapp, kinds, 2, &messages, &error), FERRIC_ERROR_NULL, "kinds");
    REFUSED(ferric_xapp_rrc_messages_new(xapp, kinds, 1, NULL, &error), FERRIC_ERROR_NULL, "out");
    EXPECT(ferric_xapp_rrc_messages_read(messages, 0, &message, octets, 8, &error), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_rrc_messages_fd(messages), -1);
    EXPECT(ferric_xapp_rrc_messages_free(messages), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_rrc_messages_new(xapp, kinds, 1, &messages, &error), FERRIC_OK);
    REFUSED(ferric_xapp_rrc_messages_read(messages, 0, NULL, octets, 8, &error), FERRIC_ERROR_NULL, "out");
    REFUSED(ferric_xapp_rrc_messages_read(messages, 0, &message, NULL, 8, &error), FERRIC_ERROR_NULL, "octets");
    EXPECT(ferric_xapp_rrc_messages_read(messages, 0, &message, NULL, 0, &error), FERRIC_ERROR_TIMEOUT);
    EXPECT(ferric_xapp_rrc_messages_free(messages), FERRIC_OK);
    EXPECT(ferric_xapp_rrc_messages_free(messages), FERRIC_ERROR_HANDLE);
}

static void policies(void) {
    struct ferric_xapp_policy policy = {0};
    struct ferric_xapp_condition condition, conditions[FERRIC_XAPP_MAX_CONDITIONS + 1];
    struct ferric_xapp_handover_rule rule, wrong;
    memset(&condition, 0, sizeof condition), memset(conditions, 0, sizeof conditions), memset(&rule, 0, sizeof rule);
    condition.parameter = "CQI", condition.comparison = FERRIC_XAPP_LESS, condition.value = 7;
    rule.conditions = &condition, rule.condition_count = 1, rule.decision = FERRIC_XAPP_REJECT;
    REFUSED(ferric_xapp_policy_new(xapp, NULL, 1, &policy, &error), FERRIC_ERROR_NULL, "rules");
    REFUSED(ferric_xapp_policy_new(xapp, &rule, 0, &policy, &error), FERRIC_ERROR_ARGUMENT, "rules");
    REFUSED(ferric_xapp_policy_new(xapp, &rule, FERRIC_XAPP_MAX_RULES + 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "rules");
    REFUSED(ferric_xapp_policy_new(xapp, &rule, 1, NULL, &error), FERRIC_ERROR_NULL, "out");
    wrong = rule, wrong.decision = 2;
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "decision");
    wrong = rule, wrong.cell = "003800001";
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "cell");
    wrong.decision = FERRIC_XAPP_ACCEPT, wrong.cell = "nowhere";
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "cell");
    wrong = rule, wrong.conditions = NULL;
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_NULL, "conditions");
    wrong = rule, wrong.conditions = conditions, wrong.condition_count = FERRIC_XAPP_MAX_CONDITIONS + 1;
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "conditions");
    wrong.condition_count = 1;
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_NULL, "parameter");
    conditions[0].parameter = "CQI", conditions[0].comparison = 4;
    REFUSED(ferric_xapp_policy_new(xapp, &wrong, 1, &policy, &error), FERRIC_ERROR_ARGUMENT, "comparison");
    EXPECT(ferric_xapp_policy_free(policy), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_policy_new(xapp, &rule, 1, &policy, &error), FERRIC_OK);
    EXPECT(ferric_xapp_policy_free(policy), FERRIC_OK);
    EXPECT(ferric_xapp_policy_free(policy), FERRIC_ERROR_HANDLE);
}

static void configurations(void) {
    static const char *names[] = {"O-NRCellDU", NULL};
    static char json[FERRIC_XAPP_MAX_JSON_OCTETS + 2];
    struct ferric_xapp_configurations reports = {0};
    struct ferric_xapp_configuration report;
    const char *node = "gnb-00101-e00";
    size_t length = 0;
    REFUSED(ferric_xapp_node_query(xapp, NULL, names, 1, json, 8, &length, &error), FERRIC_ERROR_NULL, "node");
    REFUSED(ferric_xapp_node_query(xapp, node, NULL, 1, json, 8, &length, &error), FERRIC_ERROR_NULL, "structures");
    REFUSED(ferric_xapp_node_query(xapp, node, names, 2, json, 8, &length, &error), FERRIC_ERROR_NULL, "structures");
    REFUSED(ferric_xapp_node_query(xapp, node, names, FERRIC_XAPP_MAX_STRUCTURES + 1, json, 8, &length, &error),
            FERRIC_ERROR_ARGUMENT, "structures");
    REFUSED(ferric_xapp_node_query(xapp, node, names, 1, json, 8, NULL, &error), FERRIC_ERROR_NULL, "length");
    EXPECT(ferric_xapp_node_query(xapp, node, names, 1, json, 8, &length, &error), FERRIC_ERROR_UNKNOWN);
    REFUSED(ferric_xapp_node_configure(xapp, node, NULL, NULL, &error), FERRIC_ERROR_NULL, "json");
    EXPECT(ferric_xapp_node_configure(xapp, node, "{}", NULL, &error), FERRIC_ERROR_UNKNOWN);
    memset(json, ' ', sizeof json - 1);
    EXPECT(ferric_xapp_configurations_free(reports), FERRIC_ERROR_HANDLE);
    REFUSED(ferric_xapp_configurations_new(xapp, names, 0, &reports, &error), FERRIC_ERROR_ARGUMENT, "structures");
    EXPECT(ferric_xapp_configurations_new(xapp, names, 1, &reports, &error), FERRIC_OK);
    REFUSED(ferric_xapp_configurations_read(reports, 0, NULL, json, 8, &error), FERRIC_ERROR_NULL, "out");
    REFUSED(ferric_xapp_configurations_read(reports, 0, &report, NULL, 8, &error), FERRIC_ERROR_NULL, "json");
    EXPECT(ferric_xapp_configurations_read(reports, 0, &report, json, 8, &error), FERRIC_ERROR_TIMEOUT);
    EXPECT(ferric_xapp_configurations_free(reports), FERRIC_OK);
    EXPECT(ferric_xapp_configurations_fd(reports), -1);
}

/* A forked process has no session, and ends none. */
static void forked(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        size_t count;
        struct ferric_xapp_record record;
        struct ferric_xapp_event event;
        struct ferric_xapp other;
        double value;
        EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &count, &error), FERRIC_ERROR_FORKED);
        EXPECT(ferric_xapp_verified(xapp, 1, &other, &error), FERRIC_ERROR_FORKED);
        EXPECT(ferric_xapp_close(xapp), FERRIC_ERROR_FORKED);
        EXPECT(ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, &error), FERRIC_ERROR_FORKED);
        EXPECT(ferric_xapp_kpm_fd(kpm), -1);
        EXPECT(ferric_xapp_events_read(events, 0, &event, &error), FERRIC_ERROR_FORKED);
        EXPECT(ferric_xapp_kpm_free(kpm), FERRIC_OK);
        EXPECT(ferric_xapp_events_free(events), FERRIC_OK);
        EXPECT(ferric_xapp_free(xapp), FERRIC_OK);
        EXPECT(ferric_xapp_free(xapp), FERRIC_ERROR_HANDLE);
        fflush(stdout);
        _exit(failures != 0);
    }
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
}

static void *fork_in_thread(void *unused) {
    forked();
    return unused;
}

/* Calls from a callback of the library. */
static void called_back(void) {
    struct ferric_agent agent;
    struct ferric_kpm table;
    struct ferric_measurement measurement;
    memset(&measurement, 0, sizeof measurement);
    measurement.name = "DRB.UEThpDl", measurement.scope = FERRIC_SCOPE_CELL;
    measurement.kind = FERRIC_KIND_RATE, measurement.scale = 1;
    struct ferric_agent_config config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.plmn = "00101", config.ric = "tcp://127.0.0.1:9", config.log = calls_back;
    struct ferric_kpm_config columns;
    memset(&columns, 0, sizeof columns);
    columns.size = sizeof columns, columns.measurement_count = 1, columns.measurements = &measurement, columns.max_ues = 1;
    EXPECT(ferric_agent_new(&config, &agent, &error), FERRIC_OK);
    EXPECT(ferric_agent_add_kpm(agent, &columns, &table, &error), FERRIC_OK);
    for (int at = 0; at < 50 && logged == 0; at++) EXPECT(ferric_agent_poll(agent, 100, &error), FERRIC_OK);
    EXPECT(logged > 0, 1);
    EXPECT(ferric_kpm_free(table), FERRIC_OK);
    EXPECT(ferric_agent_free(agent), FERRIC_OK);
}

int main(int count, char **arguments) {
    struct ferric_xapp_record record;
    struct ferric_xapp_event event;
    size_t nodes;
    double value;
    if (count < 2) return 2;
    connecting(arguments[1]);
    verbs();
    EXPECT(ferric_xapp_events_new(xapp, &events, &error), FERRIC_OK);
    EXPECT(ferric_xapp_events_read(events, 0, &event, &error), FERRIC_ERROR_TIMEOUT);
    streams();
    rrc_messages();
    policies();
    configurations();
    forked();
    /* the same from a second thread, while the session's thread runs and a third waits for an event */
    pthread_t reader, forker;
    int32_t read = 1;
    pthread_create(&reader, NULL, read_kpm, &read);
    pthread_create(&forker, NULL, fork_in_thread, NULL);
    pthread_join(forker, NULL);
    EXPECT(read, 1);
    EXPECT(ferric_xapp_kpm_free(kpm), FERRIC_OK);
    pthread_join(reader, NULL);
    EXPECT(read, FERRIC_ERROR_HANDLE);
    called_back();
    EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &nodes, &error), FERRIC_OK);

    /* the end of the session, in any order, with a reader that waits */
    pthread_t thread;
    int32_t status = 1;
    pthread_create(&thread, NULL, read_events, &status);
    EXPECT(ferric_xapp_close(xapp), FERRIC_OK);
    pthread_join(thread, NULL);
    EXPECT(status, FERRIC_ERROR_CLOSED);
    EXPECT(ferric_xapp_close(xapp), FERRIC_OK);
    EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &nodes, &error), FERRIC_ERROR_CLOSED);
    EXPECT(ferric_xapp_kpm_read(kpm, -1, &record, &value, 1, &error), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_dropped_reports(xapp), 0);
    EXPECT(ferric_xapp_free(xapp), FERRIC_OK);
    EXPECT(ferric_xapp_free(xapp), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_nodes(xapp, NULL, 0, &nodes, &error), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_kpm_free(kpm), FERRIC_ERROR_HANDLE);
    EXPECT(ferric_xapp_events_free(events), FERRIC_OK);
    return failures != 0;
}
