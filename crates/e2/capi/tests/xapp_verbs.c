/* Every verb of an xApp at a RIC with two nodes whose UEs are handed over now and then: xapp_verbs ADDRESS. Prints what is not as
 * expected. */
#include <ferric.h>
#include <poll.h>
#include <string.h>

#include "expect.h"

static struct ferric_error error;
#define OK(call) CHECK((call) == FERRIC_OK)
/* A request for a UE, whose `status` and `error` are as wanted. Nodes hand UEs over meanwhile: the one that the UE has just left
 * may refuse it, and the UE may be between two nodes. So it is sent again for 5 s. */
#define EXPECT_OF_UE(call, wanted)                                                                 \
    do {                                                                                           \
        int attempts = 50;                                                                         \
        int32_t status = (call);                                                                   \
        for (; !(wanted) && --attempts > 0; status = (call)) poll(NULL, 0, 100);                   \
        if (!(wanted)) failures++, printf("%d: %s: %d %s\n", __LINE__, #call, status, error.text); \
    } while (0)

static struct ferric_xapp xapp;

/* Waits for a file descriptor of the library, as an event loop does. */
static int is_readable(int fd) {
    struct pollfd entry;
    entry.fd = fd, entry.events = POLLIN, entry.revents = 0;
    return poll(&entry, 1, 600000) == 1;
}

static void events(void) {
    struct ferric_xapp_events events;
    struct ferric_xapp_event event;
    OK(ferric_xapp_events_new(xapp, &events, &error));
    for (int up = 0; up < 2; up++) {
        OK(ferric_xapp_events_read(events, 600000, &event, &error));
        CHECK(event.kind == FERRIC_XAPP_EVENT_NODE_UP && strncmp(event.node, "gnb-00101-e0", 12) == 0);
    }
    CHECK(ferric_xapp_events_fd(events) >= 0);
    OK(ferric_xapp_events_free(events));
}

/* Finds a UE with its cell, and the other cell. */
static void lists(struct ferric_xapp_ue *ue, char *other) {
    static struct ferric_xapp_node nodes[1];
    static struct ferric_xapp_cell cells[8];
    static struct ferric_xapp_ue ues[8];
    size_t count = 0;
    struct ferric_xapp_record record;
    struct ferric_xapp_kpm kpm;
    double value;
    const char *names[] = {"DRB.UEThpDl"};
    struct ferric_xapp_kpm_config config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.period_ms = 50, config.measurements = names, config.measurement_count = 1;
    OK(ferric_xapp_await_node(xapp, "gnb-00101-e01", &error));
    OK(ferric_xapp_nodes(xapp, nodes, 1, &count, &error));
    CHECK(count == 2 && strcmp(nodes[0].name, "gnb-00101-e00") == 0);
    OK(ferric_xapp_kpm_new(xapp, &config, &kpm, &error));
    do OK(ferric_xapp_kpm_read(kpm, 600000, &record, &value, 1, &error));
    while (record.cell[0] == 0 && failures == 0);
    OK(ferric_xapp_kpm_free(kpm));
    OK(ferric_xapp_find_ue(xapp, record.ue, ue, &error));
    CHECK(ue->amf_ue_ngap_id >= 0 && ue->c_rnti > 0);
    CHECK(ue->cell[0] == '0' && strlen(ue->cell) == 9);
    /* its network slice is reported after its name */
    for (int at = 0; at < 6000 && ue->slice[0] == 0; at++) {
        poll(NULL, 0, 100);
        OK(ferric_xapp_find_ue(xapp, record.ue, ue, &error));
    }
    CHECK(ue->slice[0] != 0);
    OK(ferric_xapp_ues(xapp, ues, 8, &count, &error));
    CHECK(count >= 1 && ues[0].name[0]);
    OK(ferric_xapp_cells(xapp, cells, 8, &count, &error));
    CHECK(count == 2 && cells[0].identity != cells[1].identity);
    strcpy(other, cells[strcmp(cells[0].name, ue->cell) == 0].name);
    config.ue = record.ue;
    OK(ferric_xapp_kpm_new(xapp, &config, &kpm, &error));
    OK(ferric_xapp_kpm_read(kpm, 600000, &record, &value, 1, &error));
    CHECK(strcmp(record.ue, config.ue) == 0 && ferric_xapp_kpm_refusals(kpm) == 0);
    OK(ferric_xapp_kpm_free(kpm));
    names[0] = "DRB.UEThpDx", config.ue = NULL;
    CHECK(ferric_xapp_kpm_new(xapp, &config, &kpm, &error) == FERRIC_ERROR_NOT_OFFERED);
    CHECK(strstr(error.text, "DRB.UEThpDl") != NULL);
}

static void batches(void) {
    const char *names[] = {"DRB.UEThpDl", "CQI"};
    struct ferric_xapp_kpm kpm;
    struct ferric_xapp_batch batch;
    struct ferric_xapp_columns columns;
    struct ferric_xapp_kpm_config config;
    size_t records = 0, named = 0;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.period_ms = 50, config.measurements = names, config.measurement_count = 2;
    OK(ferric_xapp_kpm_new(xapp, &config, &kpm, &error));
    OK(ferric_xapp_batch_new(&batch, &error));
    while (records < 64 && failures == 0) {
        CHECK(is_readable(ferric_xapp_kpm_fd(kpm)));
        int32_t status = ferric_xapp_kpm_read_batch(kpm, 0, batch, &columns, &error);
        if (status == FERRIC_ERROR_TIMEOUT) continue; /* all is read: wait */
        CHECK(status == FERRIC_OK && columns.count > 0 && columns.measurement_count == 2);
        for (size_t at = 0; at < columns.count; at++) {
            CHECK(columns.times_ns[at] > 0 && columns.nodes[at] < columns.node_names.count);
            CHECK(columns.ues[at] < columns.ue_names.count);
            CHECK(strncmp(columns.ue_names.names[columns.ues[at]], "amf:", 4) == 0);
            CHECK(columns.cells[at] == FERRIC_XAPP_NONE || columns.cells[at] < columns.cell_names.count);
            CHECK(columns.slices[at] == FERRIC_XAPP_NONE || columns.slices[at] < columns.slice_names.count);
            const struct ferric_xapp_column *cqi = &columns.measurements[1];
            if (cqi->kinds[at] == FERRIC_XAPP_VALUE_INTEGER) CHECK(cqi->values[at] >= 0 && cqi->values[at] <= 15);
            named += columns.cells[at] != FERRIC_XAPP_NONE;
        }
        records += columns.count;
    }
    CHECK(named > 0 && ferric_xapp_kpm_lost(kpm) == 0);
    OK(ferric_xapp_kpm_free(kpm));
    /* the columns outlive their stream */
    CHECK(columns.count == 0 || columns.times_ns[0] > 0);
    OK(ferric_xapp_batch_free(batch));
}

/* A stream that nobody reads loses its oldest records, and counts them. */
static void slow_reader(void) {
    const char *names[] = {"CQI"};
    struct ferric_xapp_kpm kpm;
    struct ferric_xapp_record record;
    struct ferric_xapp_kpm_config config;
    double value;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.period_ms = 10, config.measurements = names, config.measurement_count = 1;
    config.buffer_records = 1024;
    OK(ferric_xapp_kpm_new(xapp, &config, &kpm, &error));
    for (int at = 0; at < 6000 && ferric_xapp_kpm_lost(kpm) == 0; at++) poll(NULL, 0, 100);
    CHECK(ferric_xapp_kpm_lost(kpm) > 0);
    OK(ferric_xapp_kpm_read(kpm, 600000, &record, &value, 1, &error));
    OK(ferric_xapp_kpm_free(kpm));
}

static void controls(const char *ue, const char *node) {
    struct ferric_xapp_answer answer;
    struct ferric_xapp verified;
    struct ferric_xapp_qos qos;
    struct ferric_xapp_quota quota;
    static struct ferric_xapp_slice slices[8];
    static const struct ferric_xapp_share shares[] = {{1, 30, NULL}, {2, 70, "large"}};
    static const uint32_t ids[] = {1, 2};
    size_t count = 0;
    OK(ferric_xapp_verified(xapp, 600000, &verified, &error));
    EXPECT_OF_UE(ferric_xapp_ue_drx(xapp, ue, 320, &answer, &error), status == FERRIC_OK);
    CHECK(answer.nodes == 1 && answer.node[0]);
    CHECK(ferric_xapp_ue_drx(verified, ue, 320, NULL, &error) == FERRIC_ERROR_NOT_OFFERED);
    memset(&qos, 0, sizeof qos);
    qos.size = sizeof qos, qos.priority = 20;
    EXPECT_OF_UE(ferric_xapp_ue_qos(xapp, ue, &qos, &answer, &error), status == FERRIC_OK);
    qos.drb = 32;
    EXPECT_OF_UE(ferric_xapp_ue_qos(xapp, ue, &qos, &answer, &error),
                 status == FERRIC_ERROR_REFUSED && error.cause == FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE && error.node[0]
                     && error.cause_text[0]);
    OK(ferric_xapp_slices_set(verified, node, FERRIC_DOWNLINK, shares, 2, &answer, &error));
    CHECK(answer.nodes == 1 && strcmp(answer.node, node) == 0);
    OK(ferric_xapp_slices_list(xapp, node, slices, 8, &count, &error));
    CHECK(count == 2 && slices[1].id == 2 && strcmp(slices[1].label, "large") == 0 && slices[1].share_percent == 70);
    /* a node that is not there is waited for until the deadline */
    struct ferric_xapp impatient;
    OK(ferric_xapp_with_deadline(xapp, 200, &impatient, &error));
    CHECK(ferric_xapp_slices_list(impatient, "gnb-00101-fff", slices, 8, &count, &error) == FERRIC_ERROR_UNKNOWN);
    OK(ferric_xapp_free(impatient));
    OK(ferric_xapp_slices_remove(verified, node, FERRIC_DOWNLINK, ids, 2, NULL, &error));
    memset(&quota, 0, sizeof quota);
    quota.size = sizeof quota, quota.max_percent = 60;
    OK(ferric_xapp_quota(xapp, NULL, "1", &quota, &answer, &error));
    CHECK(answer.nodes == 2);
    OK(ferric_xapp_free(verified));
}

static void traffic_control(const char *node) {
    struct ferric_xapp_answer answer;
    struct ferric_xapp_queue queue;
    struct ferric_xapp_flow flow;
    memset(&queue, 0, sizeof queue);
    queue.size = sizeof queue, queue.kind = FERRIC_XAPP_QUEUE_CODEL;
    OK(ferric_xapp_tc_add_queue(xapp, node, &queue, &answer, &error));
    memset(&flow, 0, sizeof flow);
    flow.size = sizeof flow, flow.protocol = 17, flow.destination_port = 5060, flow.source = "10.0.0.1";
    OK(ferric_xapp_tc_add_filter(xapp, node, &flow, 1, &answer, &error));
    CHECK(ferric_xapp_tc_add_filter(xapp, node, &flow, 9, &answer, &error) == FERRIC_ERROR_REFUSED);
    CHECK(ferric_xapp_tc_remove_queue(xapp, node, 1, FERRIC_XAPP_QUEUE_CODEL, NULL, &error) == FERRIC_ERROR_REFUSED);
    OK(ferric_xapp_tc_pace(xapp, NULL, 1, &answer, &error));
    CHECK(answer.nodes == 2);
    OK(ferric_xapp_tc_pace(xapp, NULL, 0, NULL, &error));
    queue.target_ms = 10;
    OK(ferric_xapp_tc_modify_queue(xapp, node, 1, &queue, &answer, &error));
    CHECK(answer.nodes == 1);
    CHECK(ferric_xapp_tc_modify_queue(xapp, node, 9, &queue, NULL, &error) == FERRIC_ERROR_REFUSED);
    flow.destination_port = 5061;
    OK(ferric_xapp_tc_modify_filter(xapp, node, 0, &flow, 0, NULL, &error));
    CHECK(ferric_xapp_tc_modify_filter(xapp, node, 0, &flow, 9, NULL, &error) == FERRIC_ERROR_REFUSED);
    struct ferric_xapp_policer policer;
    memset(&policer, 0, sizeof policer);
    policer.size = sizeof policer, policer.id = 1, policer.is_active = 1, policer.drop_rate_kbps = 8000;
    OK(ferric_xapp_tc_modify_policer(xapp, node, &policer, NULL, &error));
    policer.id = 9;
    CHECK(ferric_xapp_tc_modify_policer(xapp, node, &policer, NULL, &error) == FERRIC_ERROR_REFUSED);
    struct ferric_xapp_shaper shaper;
    memset(&shaper, 0, sizeof shaper);
    shaper.size = sizeof shaper, shaper.id = 1, shaper.is_active = 1, shaper.max_rate_kbps = 5000;
    OK(ferric_xapp_tc_modify_shaper(xapp, node, &shaper, NULL, &error));
    shaper.id = 9;
    CHECK(ferric_xapp_tc_modify_shaper(xapp, node, &shaper, NULL, &error) == FERRIC_ERROR_REFUSED);
    const uint32_t quanta[2] = {1500, 3000};
    /* FlexRIC's layout of the model, which this node has, has round robin only */
    CHECK(ferric_xapp_tc_modify_scheduler(xapp, node, FERRIC_XAPP_SCHEDULER_DEFICIT_ROUND_ROBIN, quanta, 2, NULL, &error) ==
           FERRIC_ERROR_ARGUMENT);
    OK(ferric_xapp_tc_modify_scheduler(xapp, node, FERRIC_XAPP_SCHEDULER_ROUND_ROBIN, NULL, 0, NULL, &error));
}

/* The nodes begin handovers: one is accepted, one is denied, one is left to its node. */
static void handovers(void) {
    struct ferric_xapp_handovers handovers;
    struct ferric_xapp_handover_request request;
    OK(ferric_xapp_handovers_new(xapp, &handovers, &error));
    CHECK(is_readable(ferric_xapp_handovers_fd(handovers)));
    for (int decided = 0; decided < 2 && failures == 0;) {
        OK(ferric_xapp_handovers_read(handovers, 600000, &request, &error));
        CHECK(strncmp(request.ue, "amf:", 4) == 0 && request.target[0] && request.node[0]);
        int32_t status = decided == 0 ? ferric_xapp_handover_accept(request.handover, NULL, &error)
                                      : ferric_xapp_handover_deny(request.handover, NULL, &error);
        /* a loaded host may be too late: the node has decided */
        if (status == FERRIC_ERROR_REFUSED && error.cause == FERRIC_CAUSE_CALL_PROCESS_ID_INVALID) continue;
        OK(status);
        CHECK(ferric_xapp_handover_deny(request.handover, NULL, &error) == FERRIC_ERROR_HANDLE);
        decided++;
    }
    OK(ferric_xapp_handovers_read(handovers, 600000, &request, &error));
    OK(ferric_xapp_handover_free(request.handover));
    OK(ferric_xapp_handovers_free(handovers));
}

/* Copies of measurement reports, whose first octets are those of a UL-DCCH-Message. */
static void rrc_messages(void) {
    static const char *const kinds[] = {"MeasurementReport", "nr:UL-DCCH:0"}, *const other[] = {"lte:UL-DCCH:1"};
    struct ferric_xapp_rrc_messages messages;
    struct ferric_xapp_rrc_message message;
    unsigned char octets[512], first[1];
    OK(ferric_xapp_rrc_messages_new(xapp, kinds, 2, &messages, &error));
    CHECK(is_readable(ferric_xapp_rrc_messages_fd(messages)));
    memset(octets, 0xff, sizeof octets);
    OK(ferric_xapp_rrc_messages_read(messages, 0, &message, octets, sizeof octets, &error));
    CHECK(message.length > 4 && message.length < sizeof octets && message.lost == 0);
    /* c1, and the choice of the measurement report in four bits */
    CHECK((octets[0] & 0xf8) == 0 && octets[message.length] == 0xff);
    CHECK(strncmp(message.node, "gnb-00101-e0", 12) == 0 && strncmp(message.ue, "amf:", 4) == 0);
    /* with less room there is less of it, and its length */
    OK(ferric_xapp_rrc_messages_read(messages, 600000, &message, first, 1, &error));
    CHECK((first[0] & 0xf8) == 0 && message.length > 4);
    OK(ferric_xapp_rrc_messages_read(messages, 600000, &message, NULL, 0, &error));
    OK(ferric_xapp_rrc_messages_free(messages));
    CHECK(ferric_xapp_rrc_messages_read(messages, 0, &message, NULL, 0, &error) == FERRIC_ERROR_HANDLE);
    /* no node has messages of LTE: they are offered all the same, and none comes */
    if (ferric_xapp_rrc_messages_new(xapp, other, 1, &messages, &error) == FERRIC_OK) {
        CHECK(ferric_xapp_rrc_messages_read(messages, 100, &message, NULL, 0, &error) == FERRIC_ERROR_TIMEOUT);
        OK(ferric_xapp_rrc_messages_free(messages));
    }
}

/* Rules on handovers by the names that nodes register; while they are applied, no decision is asked for. */
static void policies(const char *cell) {
    static const struct ferric_xapp_condition conditions[] = {
        {"CQI", FERRIC_XAPP_LESS, 3}, {"SS-RSRP in dBm", FERRIC_XAPP_GREATER, -120}, {"5QI", FERRIC_XAPP_NOT_EQUAL, 1}};
    struct ferric_xapp_handover_rule rules[2];
    struct ferric_xapp_policy policy;
    memset(rules, 0, sizeof rules);
    rules[0].conditions = conditions, rules[0].condition_count = 3, rules[0].cell = cell;
    rules[1].decision = FERRIC_XAPP_REJECT;
    /* nodes have room for it again */
    for (int at = 0; at < 8 && failures == 0; at++) {
        OK(ferric_xapp_policy_new(xapp, rules, 2, &policy, &error));
        OK(ferric_xapp_policy_free(policy));
    }
    struct ferric_xapp_condition unknown = {"CQJ", FERRIC_XAPP_EQUAL, 1};
    rules[0].conditions = &unknown, rules[0].condition_count = 1;
    CHECK(ferric_xapp_policy_new(xapp, rules, 2, &policy, &error) == FERRIC_ERROR_NOT_OFFERED);
    CHECK(strstr(error.text, "CQJ") && strstr(error.text, "CQI"));
    rules[0].condition_count = 0, rules[0].cell = "00fffffff";
    CHECK(ferric_xapp_policy_new(xapp, rules, 2, &policy, &error) == FERRIC_ERROR_UNKNOWN);
}

/* Structures of a cell are queried, set, and reported. */
static void configuration(const char *node) {
    static const char *const names[] = {"O-NRCellDU"}, *const other[] = {"O-NRCellDu"};
    static char json[65536];
    char cut[16];
    struct ferric_xapp_configurations reports;
    struct ferric_xapp_configuration report;
    struct ferric_xapp_answer answer;
    size_t length, whole;
    OK(ferric_xapp_node_query(xapp, node, names, 1, json, sizeof json, &length, &error));
    CHECK(length == strlen(json) && strstr(json, "\"administrativeState\":\"UNLOCKED\"") != NULL);
    /* with less room there is less of it, and its length */
    OK(ferric_xapp_node_query(xapp, node, names, 1, cut, sizeof cut, &whole, &error));
    CHECK(whole == length && strlen(cut) == sizeof cut - 1 && strncmp(cut, json, sizeof cut - 1) == 0);
    OK(ferric_xapp_node_query(xapp, node, names, 1, NULL, 0, &whole, &error));
    CHECK(whole == length);
    CHECK(ferric_xapp_node_query(xapp, node, other, 1, json, sizeof json, &length, &error) == FERRIC_ERROR_NOT_OFFERED);
    CHECK(strstr(error.text, "O-NRCellDU") != NULL);
    OK(ferric_xapp_configurations_new(xapp, names, 1, &reports, &error));
    OK(ferric_xapp_node_configure(xapp, node, "{\"O-NRCellDU\": {\"administrativeState\": \"SHUTTINGDOWN\"}}", &answer, &error));
    CHECK(answer.nodes == 1 && strcmp(answer.node, node) == 0);
    CHECK(is_readable(ferric_xapp_configurations_fd(reports)));
    do OK(ferric_xapp_configurations_read(reports, 600000, &report, json, sizeof json, &error));
    while (failures == 0 && strstr(json, "SHUTTINGDOWN") == NULL);
    CHECK(strcmp(report.node, node) == 0 && strlen(report.cell) == 9 && report.length == strlen(json) && report.lost == 0);
    OK(ferric_xapp_configurations_free(reports));
    OK(ferric_xapp_node_configure(xapp, node, "{\"O-NRCellDU\": {\"administrativeState\": \"UNLOCKED\"}}", NULL, &error));
    CHECK(ferric_xapp_node_configure(xapp, node, "{\"O-NRCellDU\": 1}", NULL, &error) == FERRIC_ERROR_ARGUMENT);
    CHECK(ferric_xapp_node_configure(xapp, node, "[", NULL, &error) == FERRIC_ERROR_ARGUMENT);
    CHECK(strcmp(error.field, "json") == 0);
    CHECK(ferric_xapp_node_configure(xapp, node, "{\"O-NRCellDU\": {\"administrativeState\": 7}}", NULL, &error) ==
           FERRIC_ERROR_ARGUMENT);
}

int main(int count, char **arguments) {
    static struct ferric_xapp_ue ue;
    char other[16];
    struct ferric_xapp_config config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.ric = count > 1 ? arguments[1] : NULL, config.name = "verbs";
    config.deadline_ms = 600000;
    OK(ferric_xapp_connect(&config, &xapp, &error));
    if (failures) return 1;
    events();
    lists(&ue, other);
    batches();
    /* the UE may be handed over in between by itself, and be in that cell already */
    EXPECT_OF_UE(ferric_xapp_ue_handover(xapp, ue.name, other, NULL, &error),
                 status == FERRIC_OK || status == FERRIC_ERROR_REFUSED);
    EXPECT_OF_UE(ferric_xapp_ue_handover(xapp, ue.name, "fffffffff", NULL, &error),
                 status == FERRIC_ERROR_UNKNOWN && strstr(error.text, other) != NULL);
    controls(ue.name, "gnb-00101-e00");
    traffic_control("gnb-00101-e01");
    handovers();
    policies(other);
    configuration("gnb-00101-e01");
    rrc_messages();
    CHECK(ferric_xapp_dropped_reports(xapp) == 0);
    /* last, since what it requests is more than this program can take under valgrind */
    slow_reader();
    OK(ferric_xapp_free(xapp));
    return failures != 0;
}
