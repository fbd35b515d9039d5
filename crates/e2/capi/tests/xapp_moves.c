/* A session with several RICs: xapp_moves ADDRESSES. Prints what is not as expected; `ready` when there are records, then `moved`. */
#include <ferric.h>
#include <string.h>

#include "expect.h"

static struct ferric_error error;

int main(int count, char **arguments) {
    struct ferric_xapp xapp;
    struct ferric_xapp_config config;
    struct ferric_xapp_events events;
    struct ferric_xapp_event event;
    struct ferric_xapp_kpm kpm;
    struct ferric_xapp_kpm_config request;
    struct ferric_xapp_record record;
    const char *measurements[] = {"DRB.UEThpDl"};
    double value;
    if (count != 2) return 2;
    memset(&config, 0, sizeof config), memset(&request, 0, sizeof request);
    config.size = sizeof config, config.ric = arguments[1], config.name = "moves", config.deadline_ms = 600000;
    CHECK(ferric_xapp_connect(&config, &xapp, &error) == FERRIC_OK);
    if (failures) return 1;
    request.size = sizeof request, request.period_ms = 20;
    request.measurements = measurements, request.measurement_count = 1;
    CHECK(ferric_xapp_await_node(xapp, "gnb-00101-e00", &error) == FERRIC_OK);
    CHECK(ferric_xapp_events_new(xapp, &events, &error) == FERRIC_OK);
    CHECK(ferric_xapp_kpm_new(xapp, &request, &kpm, &error) == FERRIC_OK);
    CHECK(ferric_xapp_kpm_read(kpm, 600000, &record, &value, 1, &error) == FERRIC_OK);
    printf("ready\n"), fflush(stdout);
    do CHECK(ferric_xapp_events_read(events, 600000, &event, &error) == FERRIC_OK);
    while (!failures && event.kind != FERRIC_XAPP_EVENT_NODE_MOVED);
    CHECK(strcmp(event.node, "gnb-00101-e00") == 0);
    /* what was read before is over; the stream goes on */
    while (ferric_xapp_kpm_read(kpm, 0, &record, &value, 1, &error) == FERRIC_OK) continue;
    CHECK(ferric_xapp_kpm_read(kpm, 600000, &record, &value, 1, &error) == FERRIC_OK);
    CHECK(ferric_xapp_free(xapp) == FERRIC_OK);
    printf("moved\n");
    return failures != 0;
}
