/* A TFLite model on a Cortex-M4 from C: calls it on inputs whose outputs are known, and prints the instructions of a call,
   the stack that it takes, and how many elements of all outputs are wrong. `MODEL`, `WORKSPACE`, `INPUT`, `OUTPUT`,
   `RUNS` and `TICKS` are given on the command line. */
#include "tiny.h"

#define PAINTED 1024
#define TICK tick
static void tick(void);
#include "start.h"

__asm__(".section .rodata\n.balign 8\n.global given\ngiven: .incbin \"given.bin\"\n.previous");
extern const int8_t given[];

/* A library whose calls need no workspace has none. */
static TENFOLD_WORKSPACE(memory, WORKSPACE + 1);
static int8_t output[OUTPUT];

/* The processor's timer counts down from 2^24. With QEMU's `-icount shift=8` an instruction takes 256 ns; `TICKS` are those
   of 125 instructions, 800 where a tick takes 40 ns. */
static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;
static volatile uint32_t wraps;
static void tick(void) { wraps++; }

static void run(void) {
  uint32_t wrong = 0, stack = 0, spent = 0;
  for (int at = 0; at < RUNS; at++) {
    const int8_t *own = given + at * (INPUT + OUTPUT);
    volatile uint32_t *top = painted();
    uint32_t before, after;
    int32_t status;
    wraps = 0;
    timer[1] = 0xffffff;
    timer[2] = 0;
    timer[0] = 7;
    do before = timer[2];
    while (before == 0); /* until it is loaded */
    status = MODEL(own, output, memory, NULL);
    after = timer[2];
    timer[0] = 0;
    spent = before - after + (wraps << 24);
    stack = taken(top);
    if (status != TENFOLD_OK) quit(2);
    for (int i = 0; i < OUTPUT; i++) wrong += output[i] != own[INPUT + i];
  }
  print((uint32_t)((uint64_t)spent * 125 / TICKS));
  print(stack);
  print(wrong);
  quit(wrong ? 1 : 0);
}
