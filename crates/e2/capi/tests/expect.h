/* What the programs of the tests share: each prints what is not as expected, and counts it. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

static int failures;

/* A call returns this number. */
#define EXPECT(call, expected)                                                                      \
    do {                                                                                            \
        long got = (long)(call);                                                                    \
        if (got != (expected)) failures++, printf("%d: %s: %ld\n", __LINE__, #call, got);           \
    } while (0)

/* A condition holds; `error` is the last error of the program. */
#define CHECK(what)                                                                                 \
    do {                                                                                            \
        if (!(what)) failures++, printf("%d: %s: %s\n", __LINE__, #what, error.text);               \
    } while (0)

#endif
