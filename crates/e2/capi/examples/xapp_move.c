/* An xApp that divides each cell into a small and a large slice, and moves a UE whose throughput falls below a limit into the
 * large one: xapp_move ADDRESS KBPS. With a third argument it also hands the first such UE of another cell over to that cell.
 *
 * cc xapp_move.c $(pkg-config --cflags --libs ferric) -o xapp_move && ./xapp_move tcp://127.0.0.1:36423 5000
 */
#include <ferric.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t running = 1;
static void stop(int signal) { (void)signal, running = 0; }

static void check(int32_t status, const struct ferric_error *error) {
    if (status == FERRIC_OK) return;
    fprintf(stderr, "%s: %s\n", error->field[0] ? error->field : "failed", error->text);
    exit(1);
}

/* A refusal is printed with its cause: the next report may allow it. */
static void report(int32_t status, const char *what, const char *ue, const struct ferric_error *error) {
    if (status == FERRIC_OK) printf("%s: %s\n", ue, what);
    else printf("%s: not %s: %s [%s]\n", ue, what, error->text, error->cause_text);
    fflush(stdout);
}

int main(int count, char **arguments) {
    static const char *const names[] = {"DRB.UEThpDl"};
    static const struct ferric_xapp_share shares[] = {{1, 30, "small"}, {2, 70, "large"}};
    enum { LARGE = 2, MAX_UES = 64 };
    char moved[MAX_UES][FERRIC_NAME_OCTETS] = {{0}};
    size_t moved_count = 0;
    double limit = count > 2 ? atof(arguments[2]) : 5000;
    const char *target = count > 3 ? arguments[3] : NULL;
    struct ferric_error error;
    struct ferric_xapp xapp, verified;
    struct ferric_xapp_kpm kpm;
    struct ferric_xapp_answer answer;
    struct ferric_xapp_config config = {0};
    config.size = sizeof config, config.name = "xapp_move", config.ric = count > 1 ? arguments[1] : NULL;
    struct ferric_xapp_kpm_config request = {0};
    request.size = sizeof request, request.period_ms = 100;
    request.measurements = names, request.measurement_count = 1;
    struct sigaction action = {0};
    action.sa_handler = stop;
    sigaction(SIGINT, &action, NULL), sigaction(SIGTERM, &action, NULL);

    check(ferric_xapp_connect(&config, &xapp, &error), &error);
    check(ferric_xapp_verified(xapp, 10000, &verified, &error), &error);
    check(ferric_xapp_slices_set(verified, NULL, FERRIC_DOWNLINK, shares, 2, &answer, &error), &error);
    printf("slices at %zu nodes\n", answer.nodes), fflush(stdout);
    check(ferric_xapp_kpm_new(xapp, &request, &kpm, &error), &error);
    while (running && moved_count < MAX_UES) {
        struct ferric_xapp_record record;
        double kbps;
        int32_t status = ferric_xapp_kpm_read(kpm, -1, &record, &kbps, 1, &error);
        if (status == FERRIC_ERROR_INTERRUPTED) break;
        check(status, &error);
        size_t at = 0;
        while (at < moved_count && strcmp(moved[at], record.ue) != 0) at++;
        if (at < moved_count || !(kbps < limit)) continue; /* moved before, fast enough, or without a value */
        memcpy(moved[moved_count++], record.ue, sizeof record.ue);
        report(ferric_xapp_ue_slice(verified, record.ue, LARGE, NULL, &error), "in slice 2", record.ue, &error);
        if (target == NULL || strcmp(record.cell, target) == 0) continue;
        report(ferric_xapp_ue_handover(verified, record.ue, target, NULL, &error), "handed over", record.ue, &error);
        target = NULL;
    }
    ferric_xapp_kpm_free(kpm), ferric_xapp_free(verified), ferric_xapp_free(xapp);
    return 0;
}
