/* What a program needs on a Cortex-M or a RISC-V of QEMU's without a C library: start-up code, which calls `run`, output
   and an end by semihosting, what libraries may ask for, and stacks that are painted. Included behind the library's header
   by the one file of the program, which gives `PAINTED`, and `TICK` if it has a function for the timer. */
#ifndef TICK
#define TICK fault
#endif

/* Of the linker script. */
extern uint32_t __stack_top[], __data_start[], __data_end[], __data_image[], __bss_start[], __bss_end[];

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
#endif

static void semihost(uintptr_t operation, const void *argument) {
#ifdef __riscv
  register uintptr_t a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".balign 16\n.option push\n.option norvc\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
#else
  register uintptr_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

static void quit(uint32_t status) {
  const uintptr_t block[2] = {0x20026, status};
  for (;;) semihost(0x20, block);
}

static inline void put(char c) {
  const uint32_t word = (unsigned char)c;
  semihost(0x03, &word);
}

static inline void print(uint32_t number) {
  char text[12];
  int count = 0;
  for (text[count++] = '\n'; count == 1 || number > 0; number /= 10) text[count++] = (char)('0' + number % 10);
  while (count--) put(text[count]);
}

#define PAINT 0x5eed5eedu
#define INLINE static inline __attribute__((always_inline))

/* Paints the stack below the frame of the function that it is written into. */
INLINE volatile uint32_t *painted(void) {
  volatile uint32_t *top;
#ifdef __riscv
  __asm__ volatile("mv %0, sp" : "=r"(top));
#else
  __asm__ volatile("mov %0, sp" : "=r"(top));
#endif
  for (uint32_t at = 1; at <= PAINTED; at++) *(top - at) = PAINT;
  return top;
}

/* The bytes down to which the paint is gone: what a call between the two has taken. */
INLINE uint32_t taken(volatile uint32_t *top) {
  uint32_t at = PAINTED;
  while (at > 0 && *(top - at) == PAINT) at--;
  return at * 4;
}

/* Apart from `reset`, which saves no registers of a float unit that is off. */
__attribute__((noinline)) static void run(void);

#if defined(__riscv) && __riscv_xlen == 64
/* A program of Linux, linked without a script: it has a stack, and its data where they belong. */
void start(void) { run(); }
#else
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
#endif

#ifdef __riscv
#if __riscv_xlen == 32
__asm__(".section .vectors, \"ax\"\n.global start\nstart: la sp, __stack_top\nj reset\n.previous");
#endif
#else
static void fault(void) { quit(101); }

static const struct {
  uint32_t *stack;
  void (*entries[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    __stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, TICK}};
#endif
