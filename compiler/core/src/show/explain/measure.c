/* Times every kernel of a function on this machine, and what the machine can do. `call.h` says how the function is
   called: its arguments, how many kernels it has, the width of a vector, the sizes that bandwidth is asked for.

   It prints a line per figure: a word, numbers behind it. Times are nanoseconds. As a program it runs on one thread; as
   a library it is called with the context of a runtime, whose threads are measured. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__SSE2__) && !defined(__clang__)
#include <immintrin.h>
#endif

static void *take(size_t n) {
    void *q = 0;
    if (posix_memalign(&q, 64, n + 64)) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    memset(q, 0, n + 64);
    return q;
}

/* What loops are handed to threads through: `tenfold_abi` has its convention. */
typedef void (*body)(const void *captures, ptrdiff_t begin, ptrdiff_t count);
struct context {
    void (*split)(const struct context *, body, const void *captures, ptrdiff_t turns, ptrdiff_t work);
};
static const struct context *context;
static ptrdiff_t threads = 1;

/* A share for each thread. */
static void shared(body share, const void *captures) {
    if (context) context->split(context, share, captures, threads, 1 << 30);
    else share(captures, 0, 1);
}

#include "call.h"

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int timing;
static uint64_t begun, spent[SITES + 1], times[SITES + 1];

/* 2 n before kernel n, 2 n + 1 behind it. */
void tenfold_tick(ptrdiff_t at) {
    if (!timing) return;
    if (at & 1) {
        spent[at >> 1] += now() - begun;
        times[at >> 1] += 1;
    } else {
        begun = now();
    }
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *all, size_t count) {
    qsort(all, count, sizeof *all, ascending);
    return all[count / 2];
}

/* Calls with clocks between kernels and calls without, in turn. */
static int measure(double seconds) {
    size_t most = ((size_t)1 << 22) / (SITES + 1), calls = 0;
    if (most > 1 << 16) most = 1 << 16;
    uint64_t *whole = take(most * sizeof *whole), *each = take(most * (SITES + 1) * sizeof *each);
    uint64_t *between = take(most * sizeof *between);
    uint64_t begin = now();
    for (int i = 0; i < 3 || now() - begin < 50000000u; i++) {
        int32_t status = call();
        if (status) {
            printf("status %d\n", (int)status);
            return 0;
        }
        if (i > 2 && now() - begin > seconds * 5e8) break;
    }
    begin = now();
    while (calls < most && (calls < 5 || now() - begin < seconds * 1e9)) {
        uint64_t start = now();
        call();
        whole[calls] = now() - start;
        memset(spent, 0, sizeof spent);
        memset(times, 0, sizeof times);
        timing = 1;
        start = now();
        call();
        between[calls] = now() - start;
        for (size_t i = 0; i < SITES; i++) between[calls] -= spent[i];
        tenfold_tick(2 * SITES);
        tenfold_tick(2 * SITES + 1);
        timing = 0;
        for (size_t i = 0; i <= SITES; i++) each[i * most + calls] = spent[i];
        calls++;
    }
    uint64_t tick = median(each + SITES * most, calls), middle = median(whole, calls);
    printf("tick %llu\n", (unsigned long long)tick);
    printf("between %llu\n", (unsigned long long)median(between, calls));
    printf("whole %llu %llu %llu %llu\n", (unsigned long long)middle, (unsigned long long)whole[0],
           (unsigned long long)whole[calls - 1], (unsigned long long)calls);
    for (size_t i = 0; i < SITES; i++) {
        uint64_t usual = median(each + i * most, calls);
        printf("site %llu %llu %llu %llu\n", (unsigned long long)i, (unsigned long long)usual,
               (unsigned long long)times[i], (unsigned long long)each[i * most]);
    }
    free(whole);
    free(each);
    free(between);
    return 1;
}

/* One operation of a cycle each, every one of which waits for the one before. */
static double hertz(void) {
    double best = 0;
    uint64_t x = now(), y = x | 1;
    for (int turn = 0; turn < 40; turn++) {
        uint64_t begin = now();
        for (int i = 0; i < 20000; i++) {
#define STEP x ^= y; __asm__ volatile("" : "+r"(x));
            STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
        }
        double rate = 20000 * 16 / ((double)(now() - begin) * 1e-9);
        if (rate > best) best = rate;
    }
    return best;
}

typedef float vec __attribute__((vector_size(VECTOR)));
typedef uint64_t words __attribute__((vector_size(VECTOR)));
static volatile float sink, factor = 0.999f, term = 0.001f;

/* Fused multiplications of whole vectors, enough of them at once to hide how long one takes. */
static void multiply(const void *none, ptrdiff_t begin, ptrdiff_t count) {
    (void)none, (void)begin;
    vec m = {0}, c = {0};
    m += factor;
    c += term;
    for (ptrdiff_t share = 0; share < count; share++) {
        /* All different, or a compiler would see that one of them is enough. */
        vec a0 = c * factor, a1 = c * factor, a2 = c * factor, a3 = c * factor, a4 = c * factor, a5 = c * factor;
        vec a6 = c * factor, a7 = c * factor, a8 = c * factor, a9 = c * factor, a10 = c * factor, a11 = c * factor;
        for (int i = 0; i < 100000; i++) {
            a0 = a0 * m + c, a1 = a1 * m + c, a2 = a2 * m + c, a3 = a3 * m + c, a4 = a4 * m + c, a5 = a5 * m + c;
            a6 = a6 * m + c, a7 = a7 * m + c, a8 = a8 * m + c, a9 = a9 * m + c, a10 = a10 * m + c, a11 = a11 * m + c;
        }
        vec all = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
        sink = all[0];
    }
}

static double flops(void) {
    double best = 0;
    for (int turn = 0; turn < 60; turn++) {
        uint64_t begin = now();
        shared(multiply, 0);
        double rate = 100000.0 * 12 * 2 * (VECTOR / 4) * (double)threads / ((double)(now() - begin) * 1e-9);
        if (rate > best) best = rate;
    }
    return best;
}

/* A store past the caches, where the compiler has a word for it. */
#if defined(__clang__)
#define PAST(to, value) __builtin_nontemporal_store(value, to)
#elif defined(__AVX512F__) && VECTOR == 64
#define PAST(to, value) _mm512_stream_si512((__m512i *)(to), (__m512i)(value))
#elif defined(__AVX__) && VECTOR == 32
#define PAST(to, value) _mm256_stream_si256((__m256i *)(to), (__m256i)(value))
#elif defined(__SSE2__) && VECTOR == 16
#define PAST(to, value) _mm_stream_si128((__m128i *)(to), (__m128i)(value))
#else
#define PAST(to, value) (*(to) = (value))
#endif
#define KEPT(to, value) (*(to) = (value))
#define COPY(put)                                     \
    for (size_t i = 0; i < count; i += 8) {           \
        words a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];     \
        words e = from[i + 4], f = from[i + 5], g = from[i + 6], h = from[i + 7]; \
        put(to + i, a), put(to + i + 1, b), put(to + i + 2, c), put(to + i + 3, d);     \
        put(to + i + 4, e), put(to + i + 5, f), put(to + i + 6, g), put(to + i + 7, h); \
    }

static void read_all(const words *from, size_t count) {
    words a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0};
    for (size_t i = 0; i < count; i += 8) {
        a |= from[i], b |= from[i + 1], c |= from[i + 2], d |= from[i + 3];
        e |= from[i + 4], f |= from[i + 5], g |= from[i + 6], h |= from[i + 7];
    }
    a |= b | c | d | e | f | g | h;
    sink = (float)a[0];
}

/* How much of which memory a pass goes over, how often and how: 0 reads all of it, 1 copies half of it to the other
   half, 2 past the caches. Each thread has a part of its own. */
struct pass {
    char *memory;
    size_t bytes;
    uint64_t repeats;
    int how;
};

static void go_over(const void *captures, ptrdiff_t begin, ptrdiff_t turns) {
    const struct pass *pass = captures;
    for (ptrdiff_t share = begin; share < begin + turns; share++) {
        size_t count = pass->bytes / 2 / sizeof(words) / 8 * 8;
        words *from = (words *)(pass->memory + (size_t)share * pass->bytes), *to = from + count;
        for (uint64_t again = 0; again < pass->repeats; again++) {
            if (pass->how == 0) read_all(from, 2 * count);
            else if (pass->how == 1) COPY(KEPT)
            else COPY(PAST)
            __asm__ volatile("" : : "r"(pass->memory) : "memory");
        }
    }
}

/* Bytes per second of the best pass. */
static double bandwidth(char *memory, size_t bytes, int how) {
    struct pass pass = {memory, bytes / (size_t)threads / 64 * 64, bytes < 1 << 18 ? 64 : 1, how};
    size_t gone = pass.bytes / 2 / sizeof(words) / 8 * 8 * 2 * sizeof(words) * (size_t)threads;
    double best = 0;
    uint64_t start = now();
    for (int turn = 0; turn < 4 || now() - start < 12000000u; turn++) {
        uint64_t begin = now();
        shared(go_over, &pass);
        double rate = (double)(gone * pass.repeats) / ((double)(now() - begin) * 1e-9);
        if (rate > best) best = rate;
    }
    return best;
}

/* 0, or 2 where there are no inputs. */
int tenfold_explain(const char *inputs, double seconds, const void *runtime, int most_threads) {
    context = runtime;
    threads = most_threads;
    if (!open_inputs(inputs)) return 2;
    if (!measure(seconds)) return 0;
    printf("backend %s\nthreads %d\n", BACKEND, most_threads);
    printf("clock %.0f\n", hertz());
    printf("peak %.0f\n", flops());
    size_t most = levels[sizeof levels / sizeof *levels - 1];
    char *memory = take(most);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        double read = bandwidth(memory, levels[i], 0), copy = bandwidth(memory, levels[i], 1);
        double past = bandwidth(memory, levels[i], 2);
        printf("level %llu %.0f %.0f\n", (unsigned long long)levels[i], read, past > copy ? past : copy);
    }
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv) {
    return argc < 3 ? 2 : tenfold_explain(argv[1], atof(argv[2]), 0, 1);
}
