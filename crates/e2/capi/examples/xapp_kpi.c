/* An xApp that prints KPIs of each UE until Ctrl-C.
 *
 * cc xapp_kpi.c $(pkg-config --cflags --libs ferric) -o xapp_kpi && ./xapp_kpi tcp://127.0.0.1:36423
 */
#include <ferric.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t running = 1;
static void stop(int signal) { (void)signal, running = 0; }

int main(int count, char **arguments) {
    static const char *const names[] = {"DRB.UEThpDl", "CQI"};
    struct ferric_error error;
    struct ferric_xapp xapp;
    struct ferric_xapp_kpm kpm;
    struct ferric_xapp_config config = {0};
    config.size = sizeof config, config.name = "xapp_kpi", config.ric = count > 1 ? arguments[1] : NULL;
    struct ferric_xapp_kpm_config request = {0};
    request.size = sizeof request, request.period_ms = 100;
    request.measurements = names, request.measurement_count = 2;
    struct sigaction action = {0};
    action.sa_handler = stop;
    sigaction(SIGINT, &action, NULL), sigaction(SIGTERM, &action, NULL);

    if (ferric_xapp_connect(&config, &xapp, &error) || ferric_xapp_kpm_new(xapp, &request, &kpm, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    struct ferric_xapp_record record;
    double values[2];
    int32_t status = FERRIC_OK;
    while (running && !(status = ferric_xapp_kpm_read(kpm, -1, &record, values, 2, &error))) {
        printf("%-12s cell %s  %8.0f kbit/s", record.ue, record.cell, values[0]);
        printf(isnan(values[1]) ? "  CQI -\n" : "  CQI %.0f\n", values[1]);
        fflush(stdout);
    }
    if (status && status != FERRIC_ERROR_INTERRUPTED) fprintf(stderr, "%s\n", error.text);
    ferric_xapp_kpm_free(kpm), ferric_xapp_free(xapp);
    return status && status != FERRIC_ERROR_INTERRUPTED;
}
