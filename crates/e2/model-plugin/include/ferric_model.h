/* A service model in a shared object, for `ferric ric --model FILE` and `ferric decode --model FILE`.
 *
 * The object exports one symbol, `ferric_model_v1`, of type `struct ferric_model_v1`, which must not change while the
 * object is loaded. All pointers stay valid as long as the object. All texts are UTF-8 and terminated with zero.
 *
 * Build it with: cc -shared -fPIC -o temperature.so temperature.c
 */
#ifndef FERRIC_MODEL_H
#define FERRIC_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of `abi`; it changes with the layout. */
#define FERRIC_MODEL_ABI 1

/* Appends to the output. May be called any number of times, with the `context` of `describe`. */
typedef void (*ferric_emit)(void *context, const char *text, size_t octets);

struct ferric_model_v1 {
    /* FERRIC_MODEL_ABI */
    uint32_t abi;
    /* sizeof(struct ferric_model_v1), as compiled */
    uint32_t octets;
    /* The model's short name: 1 to 64 characters of a-z, 0-9, '-' and '.', such as "temperature-v1". */
    const char *name;
    /* The object identifiers with which nodes register the model, terminated with NULL. */
    const char *const *oids;
    /* The message types, terminated with NULL. "definition", the RAN function definition, is mandatory. */
    const char *const *types;
    /* Emits a message of type `type`, one of `types`, as JSON and returns 0. For an invalid message it emits the reason as
     * plain text and returns another number. The octets are those of a peer and may have any content. Called from one
     * thread at a time. */
    int (*describe)(const char *type, const uint8_t *message, size_t octets, ferric_emit emit, void *context);
};

#ifdef __cplusplus
}
#endif

#endif
