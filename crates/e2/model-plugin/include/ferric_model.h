/* A service model in a shared object, for `ferric ric --model FILE` and `ferric decode --model FILE`.
 *
 * The object exports one symbol, `ferric_model_v1`, of type `struct ferric_model_v1`, which never changes while it is
 * loaded. What it points to lives as long as the object. All text is UTF-8 and ends with a zero.
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

/* The value of `abi`. Another one is another layout. */
#define FERRIC_MODEL_ABI 1

/* Takes a piece of output. May be called any number of times, with `context` as it came. */
typedef void (*ferric_emit)(void *context, const char *text, size_t octets);

struct ferric_model_v1 {
    /* FERRIC_MODEL_ABI */
    uint32_t abi;
    /* sizeof(struct ferric_model_v1), as it was compiled */
    uint32_t octets;
    /* The model's short name: 1 to 64 characters of a-z, 0-9, '-' and '.', such as "temperature-v1". */
    const char *name;
    /* The object identifiers under which nodes register it; the last is NULL. */
    const char *const *oids;
    /* Its message types; the last is NULL. "definition" is the RAN function definition, and must be there. */
    const char *const *types;
    /* Emits the JSON of a message. `type` is one of `types`. Returns 0; or another number after it has emitted, in plain
     * words, what is wrong with the message. The octets are a peer's: anything may be in them. Called from one thread at a
     * time. */
    int (*describe)(const char *type, const uint8_t *message, size_t octets, ferric_emit emit, void *context);
};

#ifdef __cplusplus
}
#endif

#endif
