/* The digits MLP on a Cortex-M from C, with no C library and no start-up code but this file: prints the class of each
   of 20 held-out images, and checks that a call takes no more stack than the header says. */
#include "digits.h"

#define COUNT 20
#define BATCH DIGITS_MLP_B_MAX
#define CLASSES DIGITS_MLP_RESULT_DIM1
#define PIXELS DIGITS_MLP_X_DIM1

/* An npy file; NumPy pads its header to 128 bytes. */
__asm__(".section .rodata\n.balign 4\n.global file\nfile: .incbin \"test_images.npy\"\n.previous");
extern const unsigned char file[];

/* Of the linker script. */
extern uint32_t __stack_top[], __data_start[], __data_end[], __data_image[], __bss_start[], __bss_end[];

static TENFOLD_WORKSPACE(memory, DIGITS_MLP_WORKSPACE_BYTES);
static float rows[COUNT][CLASSES];

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
void __aeabi_memclr4(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memclr8(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memcpy4(void *to, const void *from, size_t count) { memcpy(to, from, count); }
void __aeabi_memcpy8(void *to, const void *from, size_t count) { memcpy(to, from, count); }

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void quit(uint32_t status) {
  const uint32_t block[2] = {0x20026, status};
  for (;;) semihost(0x20, block);
}

static void put(char c) {
  const uint32_t word = (unsigned char)c;
  semihost(0x03, &word);
}

/* What functions take that are left to the linker, which the bound does not count: those above and, where the target
   has no float unit, the compiler's arithmetic. */
#ifdef __ARM_FP
#define OUTSIDE 16
#else
#define OUTSIDE 64
#endif

#define PAINTED 512
#define PAINT 0x5eed5eedu

/* Paints the stack below this frame, calls, and looks how far down the paint is gone. */
__attribute__((noinline)) static uint32_t call(const float *x, float *y, ptrdiff_t count, int32_t *status) {
  volatile uint32_t *top;
  uint32_t at;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  for (at = 1; at <= PAINTED; at++) *(top - at) = PAINT;
  *status = digits_mlp(x, y, count, memory, NULL);
  for (at = PAINTED; at > 0 && *(top - at) == PAINT; at--) {}
  return at * 4;
}

static void run(void) {
  const float *images = (const float *)(const void *)(file + 128);
  int32_t status = TENFOLD_OK;
  for (int at = 0; at < COUNT; at += BATCH) {
    ptrdiff_t count = COUNT - at < BATCH ? COUNT - at : BATCH;
    if (call(images + at * PIXELS, rows[at], count, &status) > DIGITS_MLP_STACK_BYTES + OUTSIDE) quit(3);
    if (status != TENFOLD_OK) quit(2);
  }
  for (int at = 0; at < COUNT; at++) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++) best = rows[at][c] > rows[at][best] ? c : best;
    put((char)('0' + best));
    put('\n');
  }
  quit(0);
}

void reset(void) {
  uint32_t *to, *from = __data_image;
#ifdef __ARM_FP
  *(volatile uint32_t *)0xE000ED88 |= 0xF00000; /* access to the float unit */
  __asm__ volatile("dsb\nisb");
#endif
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
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault}};
