/* A model with one value: the temperature in degrees Celsius, in one octet. Its RAN function definition is a name. */
#include "ferric_model.h"

#include <stdio.h>
#include <string.h>

static const char *const oids[] = {"1.3.6.1.4.1.32473.1.99", NULL};
static const char *const types[] = {"definition", "indication-message", NULL};

static void emit_text(ferric_emit emit, void *context, const char *text) { emit(context, text, strlen(text)); }

static int describe(const char *type, const uint8_t *message, size_t octets, ferric_emit emit, void *context) {
    char text[64];
    if (strcmp(type, "definition") == 0) {
        emit_text(emit, context, "{\"name\":\"");
        for (size_t at = 0; at < octets; at++) {
            if (message[at] < 0x20 || message[at] > 0x7e || message[at] == '"' || message[at] == '\\') {
                return -1;
            }
            emit(context, (const char *)&message[at], 1);
        }
        emit_text(emit, context, "\"}");
        return 0;
    }
    if (octets != 1) {
        snprintf(text, sizeof text, "a temperature is one octet, not %zu", octets);
        emit_text(emit, context, text);
        return 1;
    }
    snprintf(text, sizeof text, "{\"celsius\":%d}", (int8_t)message[0]);
    emit_text(emit, context, text);
    return 0;
}

const struct ferric_model_v1 ferric_model_v1 = {
    .abi = FERRIC_MODEL_ABI,
    .octets = sizeof(struct ferric_model_v1),
    .name = "temperature-v1",
    .oids = oids,
    .types = types,
    .describe = describe,
};
