/* A TFLite model on a Cortex-M4 from C: calls it on inputs whose outputs are known, and prints the instructions of a call,
   the stack that it takes, and how many elements of all outputs are wrong. `MODEL`, `WORKSPACE`, `STACK`, `INPUT`,
   `OUTPUT`, `RUNS` and `TICKS` are given on the command line. */
#include "tiny.h"

__asm__(".section .rodata\n.balign 8\n.global given\ngiven: .incbin \"given.bin\"\n.previous");
extern const int8_t given[];

/* Of the linker script. */
extern uint32_t __stack_top[], __data_start[], __data_end[], __data_image[], __bss_start[], __bss_end[];

/* A library whose calls need no workspace has none. */
static TENFOLD_WORKSPACE(memory, WORKSPACE + 1);
static int8_t output[OUTPUT];

/* What a C library has, and what the library of functions may ask for. */
void *memset(void *to, int value, size_t count) {
  unsigned char *at = to;
  while (count--) *at++ = (unsigned char)value;
  return to;
}
void *memcpy(void *TENFOLD_RESTRICT to, const void *TENFOLD_RESTRICT from, size_t count) {
  unsigned char *at = to;
  const unsigned char *source = from;
  while (count--) *at++ = *source++;
  return to;
}
void __aeabi_memset(void *to, size_t count, int value) { memset(to, value, count); }
void __aeabi_memclr(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memcpy(void *to, const void *from, size_t count) { memcpy(to, from, count); }

/* The same at places that are multiples of four, by words. */
void __aeabi_memset4(void *to, size_t count, int value) {
  uint32_t *at = to, word = (uint32_t)(value & 255) * 0x01010101u;
  for (; count >= 4; count -= 4) *at++ = word;
  memset(at, value, count);
}
void __aeabi_memcpy4(void *to, const void *from, size_t count) {
  uint32_t *at = to;
  const uint32_t *source = from;
  for (; count >= 4; count -= 4) *at++ = *source++;
  memcpy(at, source, count);
}
void __aeabi_memset8(void *to, size_t count, int value) { __aeabi_memset4(to, count, value); }
void __aeabi_memclr4(void *to, size_t count) { __aeabi_memset4(to, count, 0); }
void __aeabi_memclr8(void *to, size_t count) { __aeabi_memset4(to, count, 0); }
void __aeabi_memcpy8(void *to, const void *from, size_t count) { __aeabi_memcpy4(to, from, count); }

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void quit(uint32_t status) {
  const uint32_t block[2] = {0x20026, status};
  for (;;) semihost(0x20, block);
}

static void print(uint32_t number) {
  char text[12];
  int count = 0;
  for (text[count++] = '\n'; count == 1 || number > 0; number /= 10) text[count++] = (char)('0' + number % 10);
  while (count--) {
    const uint32_t word = (unsigned char)text[count];
    semihost(0x03, &word);
  }
}

/* The processor's timer counts down from 2^24. With QEMU's `-icount shift=8` an instruction takes 256 ns; `TICKS` are those
   of 125 instructions, 800 where a tick takes 40 ns. */
static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;
static volatile uint32_t wraps;
static void tick(void) { wraps++; }

#define PAINTED 1024
#define PAINT 0x5eed5eedu

/* Paints the stack below this frame, calls, and looks how far down the paint is gone. */
__attribute__((noinline)) static uint32_t call(const int8_t *input, uint32_t *ticks, int32_t *status) {
  volatile uint32_t *top;
  uint32_t at, before, after;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  for (at = 1; at <= PAINTED; at++) *(top - at) = PAINT;
  wraps = 0;
  timer[1] = 0xffffff;
  timer[2] = 0;
  timer[0] = 7;
  before = timer[2];
  *status = MODEL(input, output, memory, NULL);
  after = timer[2];
  timer[0] = 0;
  *ticks = before - after + (wraps << 24);
  for (at = PAINTED; at > 0 && *(top - at) == PAINT; at--) {}
  return at * 4;
}

static void run(void) {
  uint32_t ticks = 0, wrong = 0, stack = 0;
  int32_t status = TENFOLD_OK;
  for (int at = 0; at < RUNS; at++) {
    const int8_t *own = given + at * (INPUT + OUTPUT);
    stack = call(own, &ticks, &status);
    if (status != TENFOLD_OK) quit(2);
    for (int i = 0; i < OUTPUT; i++) wrong += output[i] != own[INPUT + i];
  }
  print((uint32_t)((uint64_t)ticks * 125 / TICKS));
  print(stack);
  print(wrong);
  quit(wrong ? 1 : 0);
}

void reset(void) {
  uint32_t *to, *from = __data_image;
  *(volatile uint32_t *)0xE000ED88 |= 0xF00000; /* access to the float unit */
  __asm__ volatile("dsb\nisb");
  for (to = __data_start; to != __data_end;) *to++ = *from++;
  for (to = __bss_start; to != __bss_end;) *to++ = 0;
  run();
}

static void fault(void) { quit(101); }

static const struct {
  uint32_t *stack;
  void (*entries[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    __stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, tick}};
