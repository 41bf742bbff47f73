/* A model of integers with its workspace in two memories, what small processors have no instructions for, and loops of
   floats, on a Cortex-M or a RISC-V without a C library: prints the stack that a call of each takes and the stack that the
   header says, and ends with 0 if every result is right. `RUNS` is given on the command line. */
#include "boards.h"

#define PAINTED 256
#include "start.h"

#define INPUT BOARDS_SPEECH_X_SIZE
#define OUTPUT BOARDS_SPEECH_RESULT_SIZE
#define COUNT BOARDS_SINGLES_X_SIZE

__asm__(".section .rodata\n.balign 8\n.global given\ngiven: .incbin \"given.bin\"\n.previous");
extern const int8_t given[];

static TENFOLD_WORKSPACE(near_part, BOARDS_SPEECH_NEAR_BYTES);
static TENFOLD_WORKSPACE(far_part, BOARDS_SPEECH_FAR_BYTES) __attribute__((section(".far")));
/* The others follow one another. */
static TENFOLD_WORKSPACE(memory, 1024);

/* A call, what it returns, and how much stack it takes. */
#define CALL(name, ...)                                                                                                \
  do {                                                                                                                 \
    volatile uint32_t *top = painted();                                                                                \
    const int32_t status = (__VA_ARGS__);                                                                              \
    const uint32_t bytes = taken(top);                                                                                 \
    if (status != TENFOLD_OK) quit(2);                                                                                 \
    print(bytes);                                                                                                      \
    print(name##_STACK_BYTES);                                                                                         \
  } while (0)

#define CHECK(what)                                                                                                    \
  if (!(what)) quit((uint32_t)(10 + __LINE__))

/* Equal, or no number both. */
#define SAME(a, b) ((a) == (b) || ((a) != (a) && (b) != (b)))

static void speech(void) {
  static int8_t output[OUTPUT];
  for (int at = 0; at < RUNS; at++) {
    const int8_t *input = given + at * (INPUT + OUTPUT);
    CALL(BOARDS_SPEECH, boards_speech(input, output, near_part, far_part, NULL));
    for (int i = 0; i < OUTPUT; i++) CHECK(output[i] == input[INPUT + i]);
  }
}

static void mix(void) {
  static float x[BOARDS_MIX_X_SIZE], halves[4];
  static double doubles[4];
  static int64_t given_words[4] = {INT64_C(1) << 40, -100, 7, 0}, words[4];
  for (int i = 0; i < BOARDS_MIX_X_SIZE; i++) x[i] = (float)(i - 12);
  CALL(BOARDS_MIX, boards_mix(x, given_words, -7, halves, doubles, words, memory, NULL));
  for (int i = 0; i < 4; i++) {
    const int sum = 8 * (8 * i - 12) + 28;
    CHECK(halves[i] == (sum > 0 ? (float)sum * 0.125f : 0.0f));
    CHECK(doubles[i] == (double)sum * 0.5 + 1.0);
    CHECK(words[i] == given_words[i] / -7 * 3);
  }
}

/* Numbers for which the compiler's arithmetic goes every way: large, below what is normal, and none at all. */
static volatile const double numbers[2][COUNT] = {
    {1.5, -3e-39, 3e38, 0.0, 7e18, 1e-45, -1e300 * 1e300, 123456789.0},
    {-2.25, 5e-42, -1e-20, -0.0, 3.0, 2.5, 0.1, 1e-310}};
static volatile const int64_t integers[2][COUNT] = {
    {INT64_MAX, INT64_MIN, -1, INT64_C(0x123456789abcdef), 5, -INT64_C(0x7fffffff00000001), 99, 0},
    {3, INT64_C(1) << 33, INT64_MAX, -10, -7, INT64_C(0x100000001), INT64_MIN, 13}};

static void singles(void) {
  static float x[COUNT], y[COUNT], q[COUNT], p[COUNT], s[COUNT], d[COUNT];
  static uint8_t less[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = (float)numbers[0][i], y[i] = (float)numbers[1][i];
  CALL(BOARDS_SINGLES, boards_singles(x, y, q, p, s, d, less, memory, NULL));
  for (int i = 0; i < COUNT; i++) {
    CHECK(SAME(q[i], x[i] / y[i]) && SAME(p[i], x[i] * y[i]) && SAME(s[i], x[i] + y[i]) && SAME(d[i], x[i] - y[i]));
    CHECK(less[i] == (x[i] < y[i]));
  }
}

static void doubles(void) {
  static double x[COUNT], y[COUNT], q[COUNT], p[COUNT], s[COUNT], d[COUNT];
  static uint8_t less[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = numbers[0][i], y[i] = numbers[1][i];
  CALL(BOARDS_DOUBLES, boards_doubles(x, y, q, p, s, d, less, memory, NULL));
  for (int i = 0; i < COUNT; i++) {
    CHECK(SAME(q[i], x[i] / y[i]) && SAME(p[i], x[i] * y[i]) && SAME(s[i], x[i] + y[i]) && SAME(d[i], x[i] - y[i]));
    CHECK(less[i] == (x[i] < y[i]));
  }
}

static void longs(void) {
  static int64_t n[COUNT], m[COUNT], q[COUNT], r[COUNT], p[COUNT];
  static uint64_t u[COUNT], v[COUNT], uq[COUNT];
  for (int i = 0; i < COUNT; i++) n[i] = integers[0][i], m[i] = integers[1][i];
  for (int i = 0; i < COUNT; i++) u[i] = (uint64_t)n[i], v[i] = (uint64_t)m[i];
  CALL(BOARDS_LONGS, boards_longs(n, m, u, v, q, r, p, uq, memory, NULL));
  for (int i = 0; i < COUNT; i++) {
    CHECK(q[i] == n[i] / m[i] && r[i] == n[i] % m[i] && p[i] == (int64_t)(u[i] * v[i]) && uq[i] == u[i] / v[i]);
  }
}

static void casts(void) {
  static float x[COUNT], nf[COUNT], narrow[COUNT];
  static double z[COUNT], nd[COUNT], wide[COUNT];
  static int64_t n[COUNT], xn[COUNT], zn[COUNT];
  for (int i = 0; i < COUNT; i++) n[i] = integers[0][i], z[i] = (double)integers[1][i] / 3, x[i] = (float)z[i];
  CALL(BOARDS_CASTS, boards_casts(x, z, n, xn, zn, nf, nd, narrow, wide, memory, NULL));
  for (int i = 0; i < COUNT; i++) {
    CHECK(xn[i] == (int64_t)x[i] && zn[i] == (int64_t)z[i] && nf[i] == (float)n[i] && nd[i] == (double)n[i]);
    CHECK(narrow[i] == (float)z[i] && wide[i] == (double)x[i]);
  }
}

/* Products of small integers, whose sums are exact in any order; no extent is a multiple of a vector. */
static void product(void) {
  static float x[5][11], y[11][13], z[5][13];
  for (int i = 0; i < 5; i++) for (int k = 0; k < 11; k++) x[i][k] = (float)((i * 7 + k * 5) % 9 - 4);
  for (int k = 0; k < 11; k++) for (int j = 0; j < 13; j++) y[k][j] = (float)((k * 3 + j * 11) % 7 - 3);
  CALL(BOARDS_PRODUCT, boards_product(&x[0][0], &y[0][0], &z[0][0], memory, NULL));
  for (int i = 0; i < 5; i++) for (int j = 0; j < 13; j++) {
    float sum = 0;
    for (int k = 0; k < 11; k++) sum += x[i][k] * y[k][j];
    CHECK(z[i][j] == sum);
  }
}

static void run(void) {
  speech();
  mix();
  singles();
  doubles();
  longs();
  casts();
  product();
  quit(0);
}
