"""C99 source text that all emitted C programs of cascades have in common, besides that of `c_runtime.py`."""

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

TREE_MAIN = """
/* Whole numbers from -LARGEST to LARGEST, where all results of such are exact; else numbers above 0, up to 1. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (EXACT)
        return (element)((int64_t)((*state >> 33) % (2 * LARGEST + 1)) - LARGEST);
    return (element)((*state >> 33) % 1000 + 1) / 1000;
}

static int difference(const element *found, const element *expected, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        const element bound = EXACT ? 0 : 1e-9 * magnitude(expected[i]);
        if (!(magnitude(found[i] - expected[i]) <= bound)) {
            printf("FAILED: element %lld is %.17g, expected %.17g\\n", (long long)i, found[i], expected[i]);
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
        printf("tree         %.3e s\\n", best);
        printf("plain loops  %.3e s\\n", plain);
    }
    for (int output = 0; output < OUTPUTS; output++)
        free(found[output]);
    for (int tensor = 0; tensor < TENSORS; tensor++)
        free(array[tensor]);
    return failed;
}
#endif
"""
