/* A session by TLS: xapp_tls ADDRESS CA CERTIFICATE KEY OTHER_KEY. Prints what is not as expected. */
#include <ferric.h>
#include <string.h>

#include "expect.h"

static struct ferric_error error;

int main(int count, char **arguments) {
    struct ferric_xapp xapp;
    struct ferric_xapp_config config, wrong;
    if (count != 6) return 2;
    memset(&config, 0, sizeof config);
    config.size = sizeof config, config.ric = arguments[1], config.name = "tls", config.deadline_ms = 600000;
    config.tls_ca = arguments[2], config.tls_certificate = arguments[3], config.tls_key = arguments[4];
    CHECK(ferric_xapp_connect(&config, &xapp, &error) == FERRIC_OK);
    if (failures) return 1;
    CHECK(ferric_xapp_await_node(xapp, "gnb-00101-e00", &error) == FERRIC_OK);
    CHECK(ferric_xapp_free(xapp) == FERRIC_OK);
    wrong = config, wrong.tls_key = arguments[5];
    CHECK(ferric_xapp_connect(&wrong, &xapp, &error) == FERRIC_ERROR_ARGUMENT && strcmp(error.field, "tls_key") == 0);
    wrong = config, wrong.tls_ca = "/nowhere/ca.pem";
    CHECK(ferric_xapp_connect(&wrong, &xapp, &error) == FERRIC_ERROR_ARGUMENT && strstr(error.text, "/nowhere/ca.pem"));
    wrong = config, wrong.tls_ca = wrong.tls_certificate = wrong.tls_key = NULL;
    CHECK(ferric_xapp_connect(&wrong, &xapp, &error) == FERRIC_ERROR_CONNECT && strstr(error.text, "takes a CA"));
    return failures != 0;
}
