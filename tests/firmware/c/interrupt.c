/* The digits MLP in the main program and, with a workspace of its own, in an interrupt that comes while the main program is
   in it: ends with 0 if each call gives what a call alone gives, and prints how many calls were interrupted. */
#include "digits.h"

#define PAINTED 1
#define TICK tick
static void tick(void);
#include "start.h"

#define BATCH 2
#define TURNS 64
#define CLASSES DIGITS_MLP_RESULT_DIM1
#define PIXELS DIGITS_MLP_X_DIM1

/* An npy file; NumPy pads its header to 128 bytes. */
__asm__(".section .rodata\n.balign 4\n.global file\nfile: .incbin \"test_images.npy\"\n.previous");
extern const unsigned char file[];

/* What calls alone give: of the first images, which the main program classifies, and of the next, which the interrupt does. */
static float expected[2][BATCH][CLASSES];

static TENFOLD_WORKSPACE(memory, DIGITS_MLP_WORKSPACE_BYTES);
#ifdef SHARED
#define memory_of_interrupt memory
#else
static TENFOLD_WORKSPACE(memory_of_interrupt, DIGITS_MLP_WORKSPACE_BYTES);
#endif

static volatile uint32_t is_inside, nested, wrong;

static const float *images(int half) { return (const float *)(const void *)(file + 128) + half * BATCH * PIXELS; }

static void check(float rows[BATCH][CLASSES], int half) {
  for (int at = 0; at < BATCH; at++)
    for (int c = 0; c < CLASSES; c++) wrong += rows[at][c] != expected[half][at][c];
}

static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;

/* The processor's timer counts down from `ticks`; 0 stops it. */
static void count_from(uint32_t ticks) {
  timer[0] = 0;
  timer[1] = ticks;
  timer[2] = 0;
  timer[0] = ticks > 0 ? 7 : 0;
}

static void tick(void) {
  static float rows[BATCH][CLASSES];
  count_from(0);
  if (digits_mlp(images(1), rows[0], BATCH, memory_of_interrupt, NULL) != TENFOLD_OK) quit(2);
  check(rows, 1);
  nested += is_inside;
}

static void run(void) {
  static float rows[BATCH][CLASSES];
  uint32_t ticks = 0;
  for (int half = 0; half < 2; half++) {
    count_from(0xffffff);
    if (digits_mlp(images(half), expected[half][0], BATCH, memory, NULL) != TENFOLD_OK) quit(2);
    ticks = 0xffffff - timer[2];
    count_from(0);
  }
  /* Each interrupt comes at another place of the call. */
  for (uint32_t turn = 1; turn <= TURNS; turn++) {
    count_from(ticks / TURNS * turn);
    is_inside = 1;
    if (digits_mlp(images(0), rows[0], BATCH, memory, NULL) != TENFOLD_OK) quit(2);
    is_inside = 0;
    count_from(0);
    check(rows, 0);
  }
  print(nested);
  quit(wrong ? 4 : 0);
}
