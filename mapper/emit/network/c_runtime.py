"""C99 source text that all emitted programs of networks have in common, besides that of `emit/c_runtime.py`."""

APART = """
/* Functions whose pointers are `restrict` stay functions. Where gcc 12 makes them part of run(), all these pointers are
   addresses in one arena; vectors of words that it gathers through several of them are taken for words of the first
   one alone, and stores through the others are lost. */
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
#endif
"""

STEP_TIMES = """
/* With -DTIMES, main says how long each step takes: a group, or what is done between two. Not for several threads. */
#ifdef TIMES
static double seconds(void);
static double step_seconds[2][STEPS];
static double step_begun;
static int step_of;
#define BEGIN(of) (step_of = (of), step_begun = seconds())
#define DONE(step) \\
    do { \\
        const double now = seconds(), taken = now - step_begun; \\
        double *best = &step_seconds[step_of][step]; \\
        *best = *best > 0 && *best < taken ? *best : taken; \\
        step_begun = now; \\
    } while (0)
#else
#define BEGIN(of) ((void)0)
#define DONE(step) ((void)0)
#endif
"""

NETWORK_MAIN = """
/* Whole numbers from -LARGEST to LARGEST, where all results of such are exact; else numbers from -1 to 1. */
static element random_element(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (EXACT)
        return (element)((int64_t)((*state >> 33) % (2 * LARGEST + 1)) - LARGEST);
    return ((element)((*state >> 33) % 2001) - 1000) / 1000;
}

static element random_index(uint64_t *state, int64_t rows)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (element)((*state >> 33) % (uint64_t)rows);
}

static int larger_by(double found, double bound)
{
    return !(found <= bound); /* what is no number is larger */
}

/* Numbers of a file, one row after the other: doubles or, in half as many bytes, floats. Their bytes; 0: an error. */
static int read_numbers(const char *path, element *const rows[], const int64_t elements[], int count)
{
    int64_t wanted = 0, at = 0;
    for (int row = 0; row < count; row++)
        wanted += elements[row];
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "error: cannot read %s\\n", path);
        if (file)
            fclose(file);
        return 0;
    }
    const int64_t bytes = ftell(file);
    const int size = bytes == 4 * wanted ? 4 : 8;
    if (bytes != size * wanted) {
        fprintf(stderr, "error: %s has %lld bytes, expected %lld doubles or as many floats\\n", path, (long long)bytes,
                (long long)wanted);
        fclose(file);
        return 0;
    }
    rewind(file);
    for (int row = 0; row < count; row++)
        for (at = 0; at < elements[row]; at++) {
            double wide = 0;
            float narrow = 0;
            if (fread(size == 8 ? (void *)&wide : (void *)&narrow, (size_t)size, 1, file) != 1)
                break;
            rows[row][at] = size == 8 ? (element)wide : (element)narrow;
        }
    fclose(file);
    return size;
}

static int write_numbers(const char *path, element *const rows[], const int64_t elements[], int count)
{
    FILE *file = fopen(path, "wb");
    int failed = !file;
    for (int row = 0; row < count && !failed; row++)
        for (int64_t at = 0; at < elements[row]; at++) {
            const double value = (double)rows[row][at];
            failed |= fwrite(&value, sizeof value, 1, file) != 1;
        }
    if (file)
        failed |= fclose(file) != 0;
    if (failed)
        fprintf(stderr, "error: cannot write %s\\n", path);
    return failed;
}

/* The file beside the program that has the parameters. */
static void beside(const char *program, char *path, size_t size)
{
    const char *slash = strrchr(program, '/');
    snprintf(path, size, "%.*s%s", slash ? (int)(slash - program) + 1 : 0, program, WEIGHTS_FILE);
}

/* The largest difference of two arrays, as a part of the largest number that is expected; exact ones have none.
   Infinite words have to be the same. */
static double largest_difference(const element *found, const element *expected, int64_t elements)
{
    double apart = 0, largest = 0;
    for (int64_t i = 0; i < elements; i++) {
        if (found[i] == expected[i] && isinf((double)expected[i]))
            continue;
        const double here = fabs((double)found[i] - (double)expected[i]);
        if (!(here <= apart)) /* what is no number stays */
            apart = here;
        largest = largest > fabs((double)expected[i]) ? largest : fabs((double)expected[i]);
    }
    return EXACT || largest == 0 ? apart : apart / largest;
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [seed] [runs] [weights]\\n"
            "       %s --input FILE [--expected FILE] [--output FILE] [--tolerance PART] [--weights FILE]\\n\\n"
            "The first compares run() with plain loops on random inputs. The second takes all inputs, one after\\n"
            "the other, from a file of doubles or floats, compares all outputs with those of another file, and\\n"
            "writes them as doubles. PART is of the largest output, 1e-4 unless given.\\n",
            program, program);
    return 2;
}

/* run() on the inputs of a file. */
static int on_files(int argc, char **argv, element *inputs[], element *outputs[], element *made[],
                    const element *weights, arenas *arena)
{
    const char *input = NULL, *expected = NULL, *output = NULL;
    double tolerance = 1e-4;
    int failed = 0;
    int64_t elements[OUTPUTS];
    element *reference[OUTPUTS];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--input"))
            input = argv[i + 1];
        else if (!strcmp(argv[i], "--expected"))
            expected = argv[i + 1];
        else if (!strcmp(argv[i], "--output"))
            output = argv[i + 1];
        else if (!strcmp(argv[i], "--tolerance"))
            tolerance = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--weights"))
            return usage(argv[0]);
    }
    if (!input || argc % 2 == 0)
        return usage(argv[0]);
    for (int i = 0; i < OUTPUTS; i++) {
        elements[i] = ELEMENTS[OUTPUT[i]];
        reference[i] = made[OUTPUT[i]];
    }
    if (!read_numbers(input, inputs, INPUT_ELEMENTS, INPUTS))
        return 2;
    if (expected && !read_numbers(expected, reference, elements, OUTPUTS))
        return 2;
    run((const element *const *)inputs, weights, outputs, arena);
    if (output && write_numbers(output, outputs, elements, OUTPUTS))
        return 2;
    for (int i = 0; i < OUTPUTS && expected; i++) {
        const double apart = largest_difference(outputs[i], reference[i], elements[i]);
        failed |= larger_by(apart, tolerance);
        printf("%s: %lld elements, largest difference %.3g\\n", NAMES[i], (long long)elements[i], apart);
    }
    if (expected)
        printf(failed ? "FAILED: outputs differ\\n" : "OK: all outputs agree\\n");
    return failed;
}

/* run() beside plain loops, on random inputs. */
static int beside_plain_loops(uint64_t state, long runs, element *inputs[], element *outputs[], element *made[],
                              const element *weights, arenas *arena)
{
    double best = 0;
    int failed = 0;
    for (int input = 0; input < INPUTS; input++)
        for (int64_t i = 0; i < INPUT_ELEMENTS[input]; i++)
            inputs[input][i] = ROWS_NAMED[input] ? random_index(&state, ROWS_NAMED[input]) : random_element(&state);
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
            const double apart = largest_difference(outputs[output], made[OUTPUT[output]], elements);
            failed |= larger_by(apart, EXACT ? 0 : TOLERANCE);
            if (i == 0)
                printf("%s: %lld elements, largest difference %.3g\\n", NAMES[output], (long long)elements, apart);
        }
    }
    printf(failed ? "FAILED: outputs differ\\n" : "OK: all outputs agree\\n");
    if (!failed) {
        printf("groups       %.3e s\\n", best);
        printf("plain loops  %.3e s\\n", plain);
    }
#ifdef TIMES
    for (long i = 1; i < runs; i++)
        direct((const element *const *)inputs, weights, made);
    for (int step = 0; step < STEPS; step++)
        printf("step\\t%s\\t%.3e\\t%.3e\\n", STEP_NAMES[step], step_seconds[0][step], step_seconds[1][step]);
#endif
    return failed;
}

int main(int argc, char **argv)
{
    const int64_t all = WEIGHTS;
    char path[4096];
    const char *named = argc > 3 && argv[1][0] != '-' ? argv[3] : NULL;
    element *inputs[INPUTS], *outputs[OUTPUTS], *made[TENSORS];
    element *weights = allocate(WEIGHTS + 1);
    arenas *arena = allocate((int64_t)(sizeof(arenas) / sizeof(element)));
    for (int input = 0; input < INPUTS; input++)
        inputs[input] = allocate(INPUT_ELEMENTS[input]);
    for (int tensor = 0; tensor < TENSORS; tensor++)
        made[tensor] = allocate(ELEMENTS[tensor]);
    for (int output = 0; output < OUTPUTS; output++)
        outputs[output] = allocate(ELEMENTS[OUTPUT[output]]);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--weights"))
            named = argv[i + 1];
    if (!named)
        beside(argv[0], path, sizeof path);

    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const long runs = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    int failed = 2;
    if (!read_numbers(named ? named : path, &weights, &all, 1))
        fprintf(stderr, "These are the parameters of the network: name their file after the runs, or --weights.\\n");
    else {
        LOAD(weights, arena);
        failed = argc > 1 && argv[1][0] == '-'
                     ? on_files(argc, argv, inputs, outputs, made, weights, arena)
                     : beside_plain_loops(seed, runs, inputs, outputs, made, weights, arena);
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
