"""C99 source text that all emitted programs of networks have in common, besides that of `emit/c/runtime.py`."""

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

NARROW = """
/* Words lie at any byte of arenas and files, and what lies there has other types before and after. */
#ifdef __GNUC__
#define ANYWHERE __attribute__((aligned(1), may_alias))
#else
#define ANYWHERE
#endif
typedef int8_t int8_t_anywhere;
typedef uint8_t uint8_t_anywhere;
typedef int16_t ANYWHERE int16_t_anywhere;
typedef uint16_t ANYWHERE uint16_t_anywhere;
typedef int32_t ANYWHERE int32_t_anywhere;
typedef float ANYWHERE float_anywhere;
typedef double ANYWHERE double_anywhere;
typedef void data;

static inline int32_t larger_whole(int32_t left, int32_t right)
{
    return left > right ? left : right;
}
"""

WHOLE_FUNCTIONS = (
    *("floored_mod", "quotient", "whole_fmod", "whole_power", "whole_product", "whole_remainder", "wrapped"),
)

WHOLE = """
/* Whole numbers as a type has them, the least of which is `low`, of `span` in all. Those beyond 2^53, which doubles do
   not tell apart, are no numbers, so that nothing wrong passes for right. */
#define BEYOND 9007199254740992.0

static inline element wrapped(element value, element low, element span)
{
    const element found = value - span * floor((value - low) / span);
    return fabs(value) < BEYOND && fabs(found) < BEYOND ? found : (element)NAN;
}

/* The lowest bits of what is beyond are those of the same in 64 bits. */
static inline element lowest_bits(uint64_t bits, element low, element span)
{
    return span <= 4294967296.0 ? wrapped((element)(bits % (uint64_t)span), low, span) : (element)NAN;
}

static inline element whole_product(element left, element right, element low, element span)
{
    const element found = left * right;
    if (fabs(found) < BEYOND || !(fabs(left) < BEYOND && fabs(right) < BEYOND))
        return wrapped(found, low, span);
    return lowest_bits((uint64_t)(int64_t)left * (uint64_t)(int64_t)right, low, span);
}

static inline element whole_power(element base, element exponent, element low, element span)
{
    const element found = trunc(pow(base, exponent));
    if (fabs(found) < BEYOND || !(fabs(base) < BEYOND && exponent >= 0 && exponent < BEYOND))
        return wrapped(found, low, span);
    uint64_t result = 1, factor = (uint64_t)(int64_t)base;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1, factor *= factor)
        result *= left & 1 ? factor : 1;
    return lowest_bits(result, low, span);
}

static inline element quotient(element left, element right)
{
    return right == 0 ? 0 : trunc(left / right);
}

static inline element floored_mod(element left, element right)
{
    const element found = fmod(left, right);
    return found != 0 && (found < 0) != (right < 0) ? found + right : found;
}

static inline element whole_remainder(element left, element right)
{
    return right == 0 ? 0 : floored_mod(left, right);
}

static inline element whole_fmod(element left, element right)
{
    return right == 0 ? 0 : fmod(left, right);
}
"""

PRODUCTS = """
/* Adds the products of two rows, in 32 sums at once, which compilers make vectors of. */
#define PRODUCTS(sum, left, right, count) \\
    do { \\
        element sums[32] = {0}; \\
        for (int64_t at = 0; at + 32 <= (count); at += 32) \\
            for (int lane = 0; lane < 32; lane++) \\
                sums[lane] += (left)[at + lane] * (right)[at + lane]; \\
        for (int64_t at = (count) - (count) % 32; at < (count); at++) \\
            sums[0] += (left)[at] * (right)[at]; \\
        for (int lane = 0; lane < 32; lane++) \\
            (sum) += sums[lane]; \\
    } while (0)
"""

KINDS = """
/* Kinds of words in rows; those of a program that has one kind alone are elements. */
enum { INT8, UINT8, INT16, UINT16, INT32, FLOAT, DOUBLE, ELEMENT };
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

static const int64_t KIND_BYTES[] = {1, 1, 2, 2, 4, sizeof(float), sizeof(double), sizeof(element)};
static const double LEAST_WORD[] = {-128, 0, -32768, 0, -2147483648.0};
static const double WORDS_OF[] = {256, 256, 65536, 65536, 4294967296.0};

static double word_at(int kind, const void *row, int64_t at)
{
    const char *from = (const char *)row + at * KIND_BYTES[kind];
    union { int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; float f; double d; element e; } word;
    memcpy(&word, from, (size_t)KIND_BYTES[kind]);
    switch (kind) {
    case INT8: return word.i8;
    case UINT8: return word.u8;
    case INT16: return word.i16;
    case UINT16: return word.u16;
    case INT32: return word.i32;
    case FLOAT: return (double)word.f;
    case DOUBLE: return word.d;
    default: return (double)word.e;
    }
}

static void put_word(int kind, void *row, int64_t at, double value)
{
    union { int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; float f; double d; element e; } word;
    switch (kind) {
    case INT8: word.i8 = (int8_t)value; break;
    case UINT8: word.u8 = (uint8_t)value; break;
    case INT16: word.i16 = (int16_t)value; break;
    case UINT16: word.u16 = (uint16_t)value; break;
    case INT32: word.i32 = (int32_t)value; break;
    case FLOAT: word.f = (float)value; break;
    case DOUBLE: word.d = value; break;
    default: word.e = (element)value;
    }
    memcpy((char *)row + at * KIND_BYTES[kind], &word, (size_t)KIND_BYTES[kind]);
}

static void *allocate_row(int kind, int64_t elements)
{
    const int64_t size = sizeof(element);
    return allocate((elements * KIND_BYTES[kind] + size - 1) / size);
}

/* Any number of a kind of whole ones; else as of `random_element`. */
static double random_word(int kind, uint64_t *state)
{
    if (kind >= FLOAT)
        return (double)random_element(state);
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return LEAST_WORD[kind] + (double)((*state >> 32) % (uint64_t)WORDS_OF[kind]);
}

/* Words of a file, a row after the other: doubles, to which biases are added, or in the kinds of `stored`, as they are;
   elements are floats there. Returns their bytes; 0: an error. */
static int64_t read_numbers(const char *path, void *const rows[], const int kinds[], const int64_t elements[],
                            const int stored[], const int biases[], int count)
{
    int64_t wanted = 0, own = 0, at = 0;
    for (int row = 0; row < count; row++) {
        wanted += 8 * elements[row];
        own += elements[row] * (stored[row] == ELEMENT ? 4 : KIND_BYTES[stored[row]]);
    }
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "error: cannot read %s\\n", path);
        if (file)
            fclose(file);
        return 0;
    }
    const int64_t bytes = ftell(file);
    if (bytes != wanted && bytes != own) {
        fprintf(stderr, "error: %s has %lld bytes, expected %lld doubles or as many " OWN_KINDS "\\n", path,
                (long long)bytes, (long long)wanted / 8);
        fclose(file);
        return 0;
    }
    rewind(file);
    for (int row = 0; row < count; row++) {
        const int kind = bytes != own ? DOUBLE : stored[row] == ELEMENT ? FLOAT : stored[row];
        for (at = 0; at < elements[row]; at++) {
            double word = 0;
            if (fread(&word, (size_t)KIND_BYTES[kind], 1, file) != 1)
                break;
            put_word(kinds[row], rows[row], at, word_at(kind, &word, 0) + (bytes != own && biases ? biases[row] : 0));
        }
    }
    fclose(file);
    return bytes > 0 ? bytes : 1;
}

static int write_numbers(const char *path, void *const rows[], const int kinds[], const int64_t elements[], int count)
{
    FILE *file = fopen(path, "wb");
    int failed = !file;
    for (int row = 0; row < count && !failed; row++)
        for (int64_t at = 0; at < elements[row]; at++) {
            const double value = word_at(kinds[row], rows[row], at);
            failed |= fwrite(&value, sizeof value, 1, file) != 1;
        }
    if (file)
        failed |= fclose(file) != 0;
    if (failed)
        fprintf(stderr, "error: cannot write %s\\n", path);
    return failed;
}

/* A file beside the program. */
static void beside(const char *program, const char *name, char *path, size_t size)
{
    const char *slash = strrchr(program, '/');
    snprintf(path, size, "%.*s%s", slash ? (int)(slash - program) + 1 : 0, program, name);
}

/* The largest difference of two arrays, as a part of the largest number that is expected; exact ones have none.
   Infinite words have to be the same. */
static double largest_difference(int kind, const void *found, const element *expected, int64_t elements)
{
    double apart = 0, largest = 0;
    for (int64_t i = 0; i < elements; i++) {
        const double word = word_at(kind, found, i);
        if (word == (double)expected[i] && isinf(word))
            continue;
        const double here = fabs(word - (double)expected[i]);
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
            "the other, from a file of doubles or " OWN_KINDS ", compares all outputs with those of another\\n"
            "file, and writes them as doubles. PART is of the largest output, 1e-4 unless given.\\n",
            program, program);
    return 2;
}

/* run() on the inputs of a file. */
static int on_files(int argc, char **argv, void *inputs[], void *outputs[], element *made[], const void *weights,
                    arenas *arena)
{
    const char *input = NULL, *expected = NULL, *output = NULL;
    double tolerance = 1e-4;
    int failed = 0;
    int64_t elements[OUTPUTS];
    void *reference[OUTPUTS];
    int wide[OUTPUTS];
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
        wide[i] = ELEMENT;
    }
    if (!read_numbers(input, inputs, INPUT_KINDS, INPUT_ELEMENTS, INPUT_KINDS, NULL, INPUTS))
        return 2;
    if (expected && !read_numbers(expected, reference, wide, elements, OUTPUT_KINDS, NULL, OUTPUTS))
        return 2;
    RUN(inputs, weights, outputs, arena);
    if (output && write_numbers(output, outputs, OUTPUT_KINDS, elements, OUTPUTS))
        return 2;
    for (int i = 0; i < OUTPUTS && expected; i++) {
        const double apart = largest_difference(OUTPUT_KINDS[i], outputs[i], made[OUTPUT[i]], elements[i]);
        failed |= larger_by(apart, tolerance);
        printf("%s: %lld elements, largest difference %.3g\\n", NAMES[i], (long long)elements[i], apart);
    }
    if (expected)
        printf(failed ? "FAILED: outputs differ\\n" : "OK: all outputs agree\\n");
    return failed;
}

/* run() beside what the model's own definition makes of the same inputs, where that is stored. */
static int beside_definition(const char *program, void *inputs[], void *outputs[], element *made[], const void *weights,
                             arenas *arena)
{
    char path[4096];
    int failed = 0, kinds[INPUTS + OUTPUTS];
    int64_t elements[INPUTS + OUTPUTS];
    void *rows[INPUTS + OUTPUTS];
    beside(program, REFERENCE_FILE, path, sizeof path);
    FILE *file = IS_DEFINED ? fopen(path, "rb") : NULL;
    if (!file) {
        if (IS_DEFINED)
            printf("no " REFERENCE_FILE ": not compared with onnx.reference\\n");
        return 0;
    }
    fclose(file);
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        const int output = i - INPUTS;
        rows[i] = output < 0 ? inputs[i] : made[OUTPUT[output]];
        kinds[i] = output < 0 ? INPUT_KINDS[i] : ELEMENT;
        elements[i] = output < 0 ? INPUT_ELEMENTS[i] : ELEMENTS[OUTPUT[output]];
    }
    if (!read_numbers(path, rows, kinds, elements, kinds, NULL, INPUTS + OUTPUTS))
        return 2;
    RUN(inputs, weights, outputs, arena);
    for (int i = 0; i < OUTPUTS; i++) {
        const int64_t count = elements[INPUTS + i];
        const double apart = largest_difference(OUTPUT_KINDS[i], outputs[i], made[OUTPUT[i]], count);
        failed |= larger_by(apart, WHOLE_OUTPUT[i] ? 0 : 1e-4);
        printf("%s: %lld elements, largest difference from onnx.reference %.3g\\n", NAMES[i], (long long)count, apart);
    }
    if (failed)
        printf("FAILED: outputs differ from onnx.reference\\n");
    return failed;
}

/* A row of words as elements, which is the same row where it has such; into `to`, unless that is NULL. */
static element *widened(int kind, int bias, const void *row, int64_t elements, element *to)
{
    if (kind == ELEMENT)
        return (element *)row;
    element *found = to ? to : allocate(elements);
    for (int64_t i = 0; i < elements; i++)
        found[i] = (element)(word_at(kind, row, i) - bias);
    return found;
}

/* All parameters as elements. */
static element *widened_rows(const void *weights)
{
    if (!NARROW_KINDS)
        return (element *)weights;
    element *found = allocate(WEIGHTS + 1), *to = found;
    const char *from = weights;
    for (int row = 0; row < WEIGHT_ROWS; row++) {
        widened(WEIGHT_KINDS[row], WEIGHT_BIASES[row], from, WEIGHT_ELEMENTS[row], to);
        from += WEIGHT_ELEMENTS[row] * KIND_BYTES[WEIGHT_KINDS[row]];
        to += WEIGHT_ELEMENTS[row];
    }
    return found;
}

/* run() beside plain loops, on random inputs. */
static int beside_plain_loops(uint64_t state, long runs, void *inputs[], void *outputs[], element *made[],
                              const void *weights, arenas *arena)
{
    element *given[INPUTS], *parameters = widened_rows(weights);
    double best = 0;
    int failed = 0;
    for (int input = 0; input < INPUTS; input++)
        for (int64_t i = 0; i < INPUT_ELEMENTS[input]; i++) {
            const int64_t named = ROWS_NAMED[input];
            const int kind = INPUT_KINDS[input];
            const int whole = kind >= FLOAT ? WHOLE_INPUT[input] : 0;
            const double word = named ? (double)random_index(&state, named)
                                : whole ? (double)random_index(&state, whole == 2 ? 2 : 15) - (whole == 1 ? 7 : 0)
                                        : random_word(kind, &state);
            put_word(kind, inputs[input], i, word);
        }
    for (int input = 0; input < INPUTS; input++)
        given[input] = widened(INPUT_KINDS[input], 0, inputs[input], INPUT_ELEMENTS[input], NULL);
    double begun = seconds();
    direct((const element *const *)given, parameters, made);
    const double plain = seconds() - begun;
    for (long i = 0; i < (runs > 1 ? runs : 1) && !failed; i++) {
        begun = seconds();
        RUN(inputs, weights, outputs, arena);
        const double taken = seconds() - begun;
        best = i == 0 || taken < best ? taken : best;
        for (int output = 0; output < OUTPUTS; output++) {
            const int64_t elements = ELEMENTS[OUTPUT[output]];
            const int kind = OUTPUT_KINDS[output];
            const double apart = largest_difference(kind, outputs[output], made[OUTPUT[output]], elements);
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
        direct((const element *const *)given, parameters, made);
    for (int step = 0; step < STEPS; step++)
        printf("step\\t%s\\t%.3e\\t%.3e\\n", STEP_NAMES[step], step_seconds[0][step], step_seconds[1][step]);
#endif
    for (int input = 0; input < INPUTS; input++)
        if (given[input] != inputs[input])
            free(given[input]);
    if (parameters != weights)
        free(parameters);
    return failed;
}

int main(int argc, char **argv)
{
#ifdef WIDEST_BYTES
    const int lanes_here = WIDEST_BYTES / sizeof(element);
    if (LANES > lanes_here)
        printf("note: planned for vectors of %d elements, compiled for %d, and perhaps many times slower so: compile\\n"
               "with -march=native, or plan with --set lanes=%d --set vectors=%d (of cpu)\\n",
               LANES, lanes_here, lanes_here, WIDEST_COUNT);
#endif
    int64_t bytes = 0;
    char path[4096];
    const char *named = argc > 3 && argv[1][0] != '-' ? argv[3] : NULL;
    void *inputs[INPUTS], *outputs[OUTPUTS], *rows[WEIGHT_ROWS];
    element *made[TENSORS];
    for (int row = 0; row < WEIGHT_ROWS; row++)
        bytes += WEIGHT_ELEMENTS[row] * KIND_BYTES[WEIGHT_KINDS[row]];
    char *weights = allocate_row(INT8, bytes + 1);
    bytes = 0;
    for (int row = 0; row < WEIGHT_ROWS; row++) {
        rows[row] = weights + bytes;
        bytes += WEIGHT_ELEMENTS[row] * KIND_BYTES[WEIGHT_KINDS[row]];
    }
    arenas *arena = allocate_row(INT8, (int64_t)sizeof(arenas));
    for (int input = 0; input < INPUTS; input++)
        inputs[input] = allocate_row(INPUT_KINDS[input], INPUT_ELEMENTS[input]);
    for (int tensor = 0; tensor < TENSORS; tensor++)
        made[tensor] = allocate(ELEMENTS[tensor]);
    for (int output = 0; output < OUTPUTS; output++)
        outputs[output] = allocate_row(OUTPUT_KINDS[output], ELEMENTS[OUTPUT[output]]);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--weights"))
            named = argv[i + 1];
    if (!named)
        beside(argv[0], WEIGHTS_FILE, path, sizeof path);

    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const long runs = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    int failed = 2;
    const char *file = named ? named : path;
    if (!read_numbers(file, rows, WEIGHT_KINDS, WEIGHT_ELEMENTS, WEIGHT_KINDS, WEIGHT_BIASES, WEIGHT_ROWS))
        fprintf(stderr, "These are the parameters of the network: name their file after the runs, or --weights.\\n");
    else {
        load((const data *)weights, arena);
        failed = argc > 1 && argv[1][0] == '-'
                     ? on_files(argc, argv, inputs, outputs, made, weights, arena)
                     : beside_definition(argv[0], inputs, outputs, made, weights, arena) ||
                           beside_plain_loops(seed, runs, inputs, outputs, made, weights, arena);
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
