"""C99 source text that all emitted C programs have in common."""

HEAD = """
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Pragmas of OpenMP mean nothing where it is not asked for. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
"""

BUFFERS = """
/* A buffer at the begin of a cache line; the program ends if there is no memory for it. */
static inline void *allocate(int64_t elements)
{
    void *found = NULL;
    if (posix_memalign(&found, 64, (size_t)elements * sizeof(element)) != 0) {
        fprintf(stderr, "out of memory\\n");
        exit(1);
    }
    return found;
}
"""

LEAST = """\
static inline int64_t least(int64_t left, int64_t right)
{
    return left < right ? left : right;
}
"""

CHECK = """
/* ---- the check: `program [seed] [runs]`; compile with -DNO_MAIN to call run() from another file ---- */
#ifndef NO_MAIN
"""

CLOCKS = """
#ifndef CLOCK
#define CLOCK CLOCK_MONOTONIC
#endif

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
"""

MAIN = """
/* A whole number from -LARGEST to LARGEST: sums of products are exact, in whatever order. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (element)((int64_t)((*state >> 33) % (2 * LARGEST + 1)) - LARGEST);
}

static int difference(const element *found, const element *expected, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        if (found[i] != expected[i]) {
            printf("FAILED: element %lld is %.17g, expected %.17g\\n", (long long)i, (double)found[i],
                   (double)expected[i]);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const long runs = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    element *array[ARRAYS];
    for (int tensor = 0; tensor < ARRAYS; tensor++) {
        array[tensor] = allocate(ELEMENTS[tensor]);
        for (int64_t i = 0; i < ELEMENTS[tensor]; i++)
            array[tensor][i] = random_element(&state);
    }
    const int64_t elements = ELEMENTS[ARRAYS - 1];
    element *found = array[ARRAYS - 1];
    element *expected = allocate(elements);

    double best = 0;
    int failed = 0;
    double begun = seconds();
    DIRECT(array, expected);
    const double plain = seconds() - begun;
    for (long i = 0; i < (runs > 1 ? runs : 1) && !failed; i++) {
        begun = seconds();
        RUN(array, found);
        const double taken = seconds() - begun;
        best = i == 0 || taken < best ? taken : best;
        failed = difference(found, expected, elements);
    }
    if (!failed) {
        printf("OK: all %lld outputs agree\\n", (long long)elements);
        printf("schedule     %.3e s  %8.3f GMAC/s\\n", best, 1e-9 * MACS / best);
        printf("plain loops  %.3e s  %8.3f GMAC/s\\n", plain, 1e-9 * MACS / plain);
    }
    free(expected);
    for (int tensor = 0; tensor < ARRAYS; tensor++)
        free(array[tensor]);
    return failed;
}
#endif
"""
