"""C99 source text that all emitted C programs have in common."""

HEAD = """
#define _POSIX_C_SOURCE 200112L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Pragmas of OpenMP mean nothing where it is not asked for, and not every program calls all functions. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
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

FUNCTIONS = """\
#define LOWEST (-INFINITY)

static inline element larger(element left, element right)
{
    return left > right ? left : right;
}

static inline element smaller(element left, element right)
{
    return left < right ? left : right;
}

static inline element magnitude(element value)
{
    return value < 0 ? -value : value;
}

static inline int within(int64_t index, int64_t elements)
{
    return (uint64_t)index < (uint64_t)elements;
}
"""

MAIN = """
#if EXACT
/* A whole number from -LARGEST to LARGEST: all results are exact, in whatever order sums are added. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (element)((int64_t)((*state >> 33) % (2 * LARGEST + 1)) - LARGEST);
}

static int agree(element found, element expected)
{
    return found == expected;
}
#else
/* A number above 0, up to 1. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (element)((*state >> 33) % 1000 + 1) / 1000;
}

static int agree(element found, element expected)
{
    return magnitude(found - expected) <= 1e-9 * magnitude(expected);
}
#endif

static int difference(const element *found, const element *expected, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        if (!agree(found[i], expected[i])) {
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
    element *array[TENSORS];
    element *found[OUTPUTS];
    for (int tensor = 0; tensor < TENSORS; tensor++) {
        array[tensor] = allocate(ELEMENTS[tensor] * GENERATIONS[tensor]);
        for (int64_t i = 0; IS_INPUT[tensor] && i < ELEMENTS[tensor]; i++)
            array[tensor][i] = random_element(&state);
    }
    for (int output = 0; output < OUTPUTS; output++)
        found[output] = allocate(ELEMENTS[OUTPUT[output]]);

    double best = 0;
    int failed = 0;
    int64_t elements = 0;
    double begun = seconds();
    direct(array);
    const double plain = seconds() - begun;
    for (long i = 0; i < (runs > 1 ? runs : 1) && !failed; i++) {
        begun = seconds();
        RUN(array, found);
        const double taken = seconds() - begun;
        best = i == 0 || taken < best ? taken : best;
        for (int output = 0; output < OUTPUTS && !failed; output++) {
            const int tensor = OUTPUT[output];
            const element *last = array[tensor] + ELEMENTS[tensor] * (GENERATIONS[tensor] - 1);
            failed = difference(found[output], last, ELEMENTS[tensor]);
        }
    }
    for (int output = 0; output < OUTPUTS; output++)
        elements += ELEMENTS[OUTPUT[output]];
    if (!failed) {
        printf("OK: all %lld outputs agree\\n", (long long)elements);
        printf("schedule     %.3e s  %8.3f " RATE "\\n", best, 1e-9 * POINTS / best);
        printf("plain loops  %.3e s  %8.3f " RATE "\\n", plain, 1e-9 * POINTS / plain);
    }
    for (int output = 0; output < OUTPUTS; output++)
        free(found[output]);
    for (int tensor = 0; tensor < TENSORS; tensor++)
        free(array[tensor]);
    return failed;
}
#endif
"""
