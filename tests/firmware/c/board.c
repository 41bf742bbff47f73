/* A model of integers with its workspace in two memories, and what small processors have no instructions for, on a Cortex-M
   or a RISC-V without a C library: prints the stack of a call of each beyond what the header says, and ends with 0 if every
   result is right. `RUNS` is given on the command line. */
#include "boards.h"

#define INPUT BOARDS_SPEECH_X_SIZE
#define OUTPUT BOARDS_SPEECH_RESULT_SIZE

__asm__(".section .rodata\n.balign 8\n.global given\ngiven: .incbin \"given.bin\"\n.previous");
extern const int8_t given[];

/* Of the linker script. */
extern uint32_t __stack_top[], __data_start[], __data_end[], __data_image[], __bss_start[], __bss_end[];

static TENFOLD_WORKSPACE(near_part, BOARDS_SPEECH_NEAR_BYTES);
static TENFOLD_WORKSPACE(far_part, BOARDS_SPEECH_FAR_BYTES) __attribute__((section(".far")));
static TENFOLD_WORKSPACE(memory, BOARDS_MIX_WORKSPACE_BYTES);

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
#ifdef __arm__
void __aeabi_memset(void *to, size_t count, int value) { memset(to, value, count); }
void __aeabi_memset4(void *to, size_t count, int value) { memset(to, value, count); }
void __aeabi_memset8(void *to, size_t count, int value) { memset(to, value, count); }
void __aeabi_memclr(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memclr4(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memclr8(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memcpy(void *to, const void *from, size_t count) { memcpy(to, from, count); }
void __aeabi_memcpy4(void *to, const void *from, size_t count) { memcpy(to, from, count); }
void __aeabi_memcpy8(void *to, const void *from, size_t count) { memcpy(to, from, count); }
#endif

static void semihost(uint32_t operation, const void *argument) {
#ifdef __riscv
  register uint32_t a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".balign 16\n.option push\n.option norvc\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
#else
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
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

#define PAINTED 256
#define PAINT 0x5eed5eedu

/* Paints the stack below this frame, calls, and looks how far down the paint is gone. */
__attribute__((noinline)) static uint32_t stack_of(void (*function)(void)) {
  volatile uint32_t *top;
  uint32_t at;
#ifdef __riscv
  __asm__ volatile("mv %0, sp" : "=r"(top));
#else
  __asm__ volatile("mov %0, sp" : "=r"(top));
#endif
  for (at = 1; at <= PAINTED; at++) *(top - at) = PAINT;
  function();
  for (at = PAINTED; at > 0 && *(top - at) == PAINT; at--) {}
  return at * 4;
}

static int32_t status;

static const int8_t *input;
static int8_t output[OUTPUT];
static void speech(void) { status = boards_speech(input, output, near_part, far_part, NULL); }

static float x[BOARDS_MIX_X_SIZE], halves[4];
static double doubles[4];
static int64_t given_words[4] = {INT64_C(1) << 40, -100, 7, 0}, words[4];
static void mix(void) { status = boards_mix(x, given_words, -7, halves, doubles, words, memory, NULL); }

static uint32_t more(uint32_t bytes, uint32_t said) { return bytes > said ? bytes - said : 0; }

/* Apart from `reset`, which saves no registers of a float unit that is off. */
__attribute__((noinline)) static void run(void) {
  uint32_t speech_stack = 0, mix_stack;
  for (int at = 0; at < RUNS; at++) {
    input = given + at * (INPUT + OUTPUT);
    speech_stack = stack_of(speech);
    if (status != TENFOLD_OK) quit(2);
    for (int i = 0; i < OUTPUT; i++) if (output[i] != input[INPUT + i]) quit(3);
  }
  for (int i = 0; i < BOARDS_MIX_X_SIZE; i++) x[i] = (float)(i - 12);
  mix_stack = stack_of(mix);
  if (status != TENFOLD_OK) quit(4);
  for (int i = 0; i < 4; i++) {
    const int sum = 8 * (8 * i - 12) + 28;
    if (halves[i] != (sum > 0 ? (float)sum * 0.125f : 0.0f)) quit(5);
    if (doubles[i] != (double)sum * 0.5 + 1.0) quit(6);
    if (words[i] != given_words[i] / -7 * 3) quit(7);
  }
  print(more(speech_stack, BOARDS_SPEECH_STACK_BYTES));
  print(more(mix_stack, BOARDS_MIX_STACK_BYTES));
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

#ifdef __riscv
__asm__(".section .vectors, \"ax\"\n.global start\nstart: la sp, __stack_top\nj reset\n.previous");
#else
static void fault(void) { quit(101); }

static const struct {
  uint32_t *stack;
  void (*entries[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    __stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault}};
#endif
