/* Calls a kernel with its default schedule and with another one, compares what they give, and times them in turn. `call.h`
   says how they are called: their arguments, and which of these are results.

   It prints one line: `wrong RESULT`, `status N`, or `times DEFAULT TUNED PAIRS`, in nanoseconds of a call. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXACT, F16, BF16, F32, F64 };

struct result {
    int at, kind;
    size_t bytes;
};

static void *take(size_t n) {
    void *q = 0;
    if (posix_memalign(&q, 4096, n + 64)) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    memset(q, 0, n + 64);
    return q;
}

#include "call.h"

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 0    ? ldexp(mantissa, -24)
                   : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                    : ldexp(1024 + mantissa, exponent - 25);
    return bits >> 15 ? -value : value;
}

static double element(const void *p, size_t i, int kind) {
    if (kind == F64) return ((const double *)p)[i];
    if (kind == F32) return ((const float *)p)[i];
    uint16_t bits = ((const uint16_t *)p)[i];
    if (kind == F16) return half(bits);
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

/* Sums in another order lose other bits: each element may be off by some units of the greatest one. */
static int same(const void *a, const void *b, struct result of) {
    static const double units[] = {0, 0x1p-10, 0x1p-7, 0x1p-23, 0x1p-52};
    static const size_t sizes[] = {1, 2, 2, 4, 8};
    if (of.kind == EXACT) return !memcmp(a, b, of.bytes);
    size_t count = of.bytes / sizes[of.kind];
    double greatest = 0;
    for (size_t i = 0; i < count; i++) {
        double x = fabs(element(a, i, of.kind));
        if (x > greatest && x < INFINITY) greatest = x;
    }
    double most = (of.kind < F32 ? 4 : 64) * units[of.kind] * greatest;
    for (size_t i = 0; i < count; i++) {
        double x = element(a, i, of.kind), y = element(b, i, of.kind);
        if (x != y && !(fabs(x - y) <= most) && !(isnan(x) && isnan(y))) return 0;
    }
    return 1;
}

/* Whether both give the same; they run once each. */
static int agree(void) {
    void *expected[RESULTS];
    int32_t status = call_default();
    for (size_t i = 0; i < RESULTS; i++) {
        expected[i] = take(results[i].bytes);
        memcpy(expected[i], p[results[i].at], results[i].bytes);
        memset(p[results[i].at], 0x5a, results[i].bytes);
    }
    if (!status) status = call_tuned();
    if (status) {
        printf("status %d\n", (int)status);
        return 0;
    }
    for (size_t i = 0; i < RESULTS; i++) {
        if (!same(expected[i], p[results[i].at], results[i])) {
            printf("wrong %d\n", (int)i);
            return 0;
        }
        free(expected[i]);
    }
    return 1;
}

static double timed(int32_t (*call)(void), uint64_t turns) {
    uint64_t begin = now();
    for (uint64_t i = 0; i < turns; i++) call();
    return (double)(now() - begin) / (double)turns;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a quarter of the times do not exceed: others on the machine make times longer, and never shorter. */
static double quarter(double *all, size_t count) {
    qsort(all, count, sizeof *all, ascending);
    return all[count / 4];
}

int main(int argc, char **argv) {
    enum { LEAST = 7, MOST = 4096 };
    static double one[MOST], other[MOST];
    if (argc < 3 || !open_inputs(argv[1])) return 2;
    if (!agree()) return 0;
    double limit = atof(argv[2]) * 1e9;
    uint64_t turns = 1, begin = now();
    while (timed(call_default, turns) * (double)turns < 5e4) turns *= 2;
    while ((double)(now() - begin) < limit / 8) timed(call_tuned, turns), timed(call_default, turns);
    size_t pairs = 0;
    begin = now();
    while (pairs < MOST && (pairs < LEAST || (double)(now() - begin) < limit)) {
        /* Whoever is first in one pair is second in the next. */
        if (pairs & 1) other[pairs] = timed(call_tuned, turns);
        one[pairs] = timed(call_default, turns);
        if (!(pairs & 1)) other[pairs] = timed(call_tuned, turns);
        pairs++;
        if (pairs >= LEAST && other[pairs - 1] > 2 * one[pairs - 1] && (double)(now() - begin) > limit / 8) break;
    }
    double usual = quarter(one, pairs), tuned = quarter(other, pairs);
    printf("times %.3f %.3f %d\n", usual, tuned, (int)pairs);
    return 0;
}
