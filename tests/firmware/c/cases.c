/* Functions of one operator each, called on inputs whose outputs are known: names those that give anything else, write
   beside their outputs, or take more stack than the header says. `cases.inc` has the functions and the data. */
#include "cases.h"

#if __STDC_HOSTED__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void put(char c) { putchar(c); }
static void quit(int status) { exit(status); }
/* A call's stack is measured on the boards. */
#define PAINT_STACK ((void)0)
#define TAKEN 0
static void run(void);
int main(void) { run(); }
#else
#define PAINTED 1024
#include "start.h"
#define PAINT_STACK volatile uint32_t *top = painted()
#define TAKEN taken(top)
#endif

struct tensor {
  uint32_t at, bytes; /* where it lies among those of a run */
  int is_float;
};

struct function {
  const char *name;
  /* The status; the stack that the call took. */
  int32_t (*call)(const unsigned char *inputs, unsigned char *outputs, uint32_t *stack);
  const unsigned char *given; /* inputs and outputs, run by run */
  uint32_t inputs, outputs, stack;
  const struct tensor *results;
  int count;
};

/* No function of this program stands between the stack that is painted and the one that is called. */
#define CALL(what) \
  PAINT_STACK; \
  const int32_t status = what; \
  *stack = TAKEN; \
  return status

/* What no function may leave: between results, and where one has to be. */
#define UNTOUCHED 0x55

#include "cases.inc"

static unsigned char found[MOST_OUTPUTS] __attribute__((aligned(16)));

/* Integers are those of the reference; floats are near, since it sums in another order. */
static int same(const struct tensor *tensor, const unsigned char *expected) {
  const unsigned char *own = found + tensor->at;
  if (!tensor->is_float) {
    for (uint32_t i = 0; i < tensor->bytes; i++)
      if (own[i] != expected[tensor->at + i]) return 0;
    return 1;
  }
  for (uint32_t i = 0; i < tensor->bytes; i += 4) {
    const float a = *(const float *)(const void *)(own + i), b = *(const float *)(const void *)(expected + tensor->at + i);
    const float apart = a < b ? b - a : a - b, size = b < 0 ? -b : b;
    if (!(apart <= 1e-5f * (size > 1 ? size : 1))) return 0;
  }
  return 1;
}

static int is_untouched(const struct function *function) {
  uint32_t at = 0;
  for (int n = 0; n <= function->count; n++) {
    const uint32_t end = n < function->count ? function->results[n].at : function->outputs;
    for (; at < end; at++)
      if (found[at] != UNTOUCHED) return 0;
    if (n < function->count) at = end + function->results[n].bytes;
  }
  return 1;
}

static int is_good(const struct function *function, const unsigned char *given) {
  memset(found, UNTOUCHED, sizeof found);
  uint32_t stack = 0;
  if (function->call(given, found, &stack) != TENFOLD_OK || stack > function->stack) return 0;
  for (int n = 0; n < function->count; n++)
    if (!same(&function->results[n], given + function->inputs)) return 0;
  return is_untouched(function);
}

static void run(void) {
  int wrong = 0;
  for (uint32_t at = 0; at < sizeof functions / sizeof *functions; at++) {
    const struct function *function = &functions[at];
    for (uint32_t run = 0; run < RUNS; run++) {
      if (is_good(function, function->given + run * (function->inputs + function->outputs))) continue;
      for (const char *c = function->name; *c; c++) put(*c);
      put(' ');
      put((char)('0' + run));
      put('\n');
      wrong = 1;
    }
  }
  quit(wrong);
}
