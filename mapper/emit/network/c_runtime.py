"""C99 source text that all emitted programs of networks have in common, besides that of `emit/c_runtime.py`."""

NETWORK_MAIN = """
/* Whole numbers from -LARGEST to LARGEST, where all results of such are exact; else numbers from -1 to 1. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (EXACT)
        return (element)((int64_t)((*state >> 33) % (2 * LARGEST + 1)) - LARGEST);
    return ((element)((*state >> 33) % 2001) - 1000) / 1000;
}

/* The parameters, as doubles: from the file WEIGHTS_FILE beside the program, or the one that is named. */
static int read_weights(const char *program, const char *named, element *weights)
{
    char path[4096];
    const char *slash = strrchr(program, '/');
    const int folder = slash ? (int)(slash - program) + 1 : 0;
    if (named)
        snprintf(path, sizeof path, "%s", named);
    else
        snprintf(path, sizeof path, "%.*s%s", folder, program, WEIGHTS_FILE);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "error: cannot read %s, the parameters of the network; name their file as third argument\\n",
                path);
        return 1;
    }
    const size_t found = fread(weights, sizeof(element), WEIGHTS, file);
    const int more = fgetc(file) != EOF;
    fclose(file);
    if (found != WEIGHTS || more) {
        fprintf(stderr, "error: %s has %s than %lld doubles: it belongs to another network\\n", path,
                more ? "more" : "less", (long long)WEIGHTS);
        return 1;
    }
    return 0;
}

/* The largest difference of two arrays, as a part of the largest number that is expected; exact ones have none. */
static element largest_difference(const element *found, const element *expected, int64_t elements)
{
    element apart = 0, largest = 0;
    for (int64_t i = 0; i < elements; i++) {
        const element here = magnitude(found[i] - expected[i]);
        if (!(here <= apart)) /* what is no number stays */
            apart = here;
        largest = larger(largest, magnitude(expected[i]));
    }
    return EXACT || largest == 0 ? apart : apart / largest;
}

int main(int argc, char **argv)
{
    uint64_t state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const long runs = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    element *inputs[INPUTS], *outputs[OUTPUTS], *made[TENSORS];
    element *weights = allocate(WEIGHTS + 1);
    arenas *arena = allocate((int64_t)(sizeof(arenas) / sizeof(element)));
    if (read_weights(argv[0], argc > 3 ? argv[3] : NULL, weights))
        return 2;
    for (int input = 0; input < INPUTS; input++) {
        inputs[input] = allocate(INPUT_ELEMENTS[input]);
        for (int64_t i = 0; i < INPUT_ELEMENTS[input]; i++)
            inputs[input][i] = random_element(&state);
    }
    for (int tensor = 0; tensor < TENSORS; tensor++)
        made[tensor] = allocate(ELEMENTS[tensor]);
    for (int output = 0; output < OUTPUTS; output++)
        outputs[output] = allocate(ELEMENTS[OUTPUT[output]]);

    double best = 0;
    int failed = 0;
    double begun = seconds();
    direct((const element *const *)inputs, weights, made);
    const double plain = seconds() - begun;
    for (long i = 0; i < (runs > 1 ? runs : 1) && !failed; i++) {
        begun = seconds();
        run((const element *const *)inputs, weights, outputs, arena);
        const double taken = seconds() - begun;
        best = i == 0 || taken < best ? taken : best;
        for (int output = 0; output < OUTPUTS; output++) {
            const int64_t elements = ELEMENTS[OUTPUT[output]];
            const element apart = largest_difference(outputs[output], made[OUTPUT[output]], elements);
            failed |= !(apart <= (EXACT ? 0 : 1e-9));
            if (i == 0)
                printf("%s: %lld elements, largest difference %.3g\\n", NAMES[output], (long long)elements, apart);
        }
    }
    printf(failed ? "FAILED: outputs differ\\n" : "OK: all outputs agree\\n");
    if (!failed) {
        printf("groups       %.3e s\\n", best);
        printf("plain loops  %.3e s\\n", plain);
    }
    for (int output = 0; output < OUTPUTS; output++)
        free(outputs[output]);
    for (int tensor = 0; tensor < TENSORS; tensor++)
        free(made[tensor]);
    for (int input = 0; input < INPUTS; input++)
        free(inputs[input]);
    free(arena);
    free(weights);
    return failed;
}
#endif
"""
