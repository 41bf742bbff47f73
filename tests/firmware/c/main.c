/* The digits MLP on a Cortex-M from C, with no C library: prints the class of each of 20 held-out images, and checks that
   a call takes no more stack than the header says. */
#include "digits.h"

#define PAINTED 512
#include "start.h"

#define COUNT 20
#define BATCH DIGITS_MLP_B_MAX
#define CLASSES DIGITS_MLP_RESULT_DIM1
#define PIXELS DIGITS_MLP_X_DIM1

/* An npy file; NumPy pads its header to 128 bytes. */
__asm__(".section .rodata\n.balign 4\n.global file\nfile: .incbin \"test_images.npy\"\n.previous");
extern const unsigned char file[];

static TENFOLD_WORKSPACE(memory, DIGITS_MLP_WORKSPACE_BYTES);
static float rows[COUNT][CLASSES];

static void run(void) {
  const float *images = (const float *)(const void *)(file + 128);
  for (int at = 0; at < COUNT; at += BATCH) {
    const ptrdiff_t count = COUNT - at < BATCH ? COUNT - at : BATCH;
    volatile uint32_t *top = painted();
    const int32_t status = digits_mlp(images + at * PIXELS, rows[at], count, memory, NULL);
    if (taken(top) > DIGITS_MLP_STACK_BYTES) quit(3);
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
