/* Spots words on a Cortex-M4 in C, with no C library and no start-up code but this file: the functions of the `keyword`
   example, 16 milliseconds of audio at a time. It prints what it hears; the simulator's exit status is 0 if that was
   said. */
#include "keyword.h"

#define HOP KEYWORD_HEAR_SAMPLES_SIZE
#define BANDS KEYWORD_HEAR_SPECTRA_DIM1
#define CLASSES KEYWORD_HEAR_RESULT_SIZE
#define RATE 16000

/* What `keyword --raw` says, 16 bits a sample. */
__asm__(".section .rodata\n.balign 2\n.global spoken\nspoken: .incbin \"words.raw\"\n.global spoken_end\nspoken_end:\n.previous");
extern const int16_t spoken[], spoken_end[];
static const int words[] = {1, 3, 2, 4, 4, 1};
static const char *const names[CLASSES] = {"(nothing)", "rise", "fall", "echo", "trill"};

/* What a step leaves for the next, and memory for a call. */
static float tail[HOP], spectra[KEYWORD_HEAR_SPECTRA_DIM0][BANDS];
static TENFOLD_WORKSPACE(memory, KEYWORD_HEAR_WORKSPACE_BYTES);

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
void *memmove(void *to, const void *from, size_t count) {
  unsigned char *at = to;
  const unsigned char *source = from;
  for (size_t done = 0; at <= source && done < count; done++) at[done] = source[done];
  while (at > source && count--) at[count] = source[count];
  return to;
}
void __aeabi_memclr4(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memclr8(void *to, size_t count) { memset(to, 0, count); }
void __aeabi_memcpy4(void *to, const void *from, size_t count) { memcpy(to, from, count); }
void __aeabi_memcpy8(void *to, const void *from, size_t count) { memcpy(to, from, count); }
void __aeabi_memmove4(void *to, const void *from, size_t count) { memmove(to, from, count); }
void __aeabi_memmove8(void *to, const void *from, size_t count) { memmove(to, from, count); }

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void quit(uint32_t status) {
  const uint32_t block[2] = {0x20026, status};
  for (;;) semihost(0x20, block);
}

static void print(const char *text) { semihost(0x04, text); }

static void print_number(uint32_t number, int digits) {
  char text[12];
  int at = 11;
  for (text[at] = 0; digits-- > 0 || number > 0; number /= 10) text[--at] = (char)('0' + number % 10);
  print(text + at);
}

/* The word that is likely in this step, or nothing. */
static int likely(const int16_t *samples) {
  float step[HOP], result[CLASSES];
  int at, word = 0;
  for (at = 0; at < HOP; at++) step[at] = (float)samples[at] / 16384.0f;
  if (keyword_hear(step, tail, &spectra[0][0], result, memory, NULL) != TENFOLD_OK) quit(2);
  for (at = 1; at < CLASSES; at++) word = result[at] > 0.8f ? at : word;
  return word;
}

/* A word is heard when it has been likely for three steps. */
static void listen(void) {
  int last = 0, steps = 0, heard = 0, right = 0, count = (int)(sizeof words / sizeof *words);
  for (const int16_t *at = spoken; at + HOP <= spoken_end; at += HOP) {
    int word = likely(at);
    steps = word == last ? steps + 1 : 1;
    last = word;
    if (word == 0 || steps != 3) continue;
    uint32_t hundredths = (uint32_t)(at + HOP - spoken) / (RATE / 100);
    print_number(hundredths / 100, 1);
    print(".");
    print_number(hundredths % 100, 2);
    print(" s  ");
    print(names[word]);
    print("\n");
    right += heard < count && words[heard] == word;
    heard++;
  }
  print_number((uint32_t)right, 1);
  print(" of ");
  print_number((uint32_t)count, 1);
  print(" words heard; ");
  print_number(KEYWORD_HEAR_CODE_BYTES, 1);
  print(" bytes of code, ");
  print_number(KEYWORD_HEAR_WEIGHT_BYTES, 1);
  print(" of constants, ");
  print_number(sizeof tail + sizeof spectra + sizeof memory, 1);
  print(" of state and workspace\n");
  quit(right != count || heard != count);
}

void reset(void) {
  uint32_t *to, *from = __data_image;
  *(volatile uint32_t *)0xE000ED88 |= 0xF00000; /* access to the float unit */
  __asm__ volatile("dsb\nisb");
  for (to = __data_start; to != __data_end;) *to++ = *from++;
  for (to = __bss_start; to != __bss_end;) *to++ = 0;
  /* The logarithm of no energy at all. */
  for (float *at = &spectra[0][0]; at != &spectra[0][0] + KEYWORD_HEAR_SPECTRA_SIZE; at++) *at = -13.815511f;
  listen();
}

static void fault(void) { quit(101); }

static const struct {
  uint32_t *stack;
  void (*entries[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    __stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault}};
