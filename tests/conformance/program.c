/* Calls each shim with what standard input holds for it, and prints the arguments that it writes. Numbers of arguments,
   their bytes and whether they are written are of 64 bits. Without a context loops
   run where they stand. */
#include <stdio.h>
#include <stdlib.h>

static void take(void *to, size_t bytes) {
  if (bytes && fread(to, bytes, 1, stdin) != 1) {
    fprintf(stderr, "standard input is too short\n");
    exit(2);
  }
}

int main(void) {
  for (size_t n = 0; n < sizeof SHIMS / sizeof *SHIMS; n++) {
    uint64_t count;
    take(&count, sizeof count);
    void *p[count + 1];
    uint64_t bytes[count + 1], written[count + 1];
    for (size_t i = 0; i < count; i++) {
      take(&bytes[i], sizeof *bytes);
      take(&written[i], sizeof *written);
      p[i] = aligned_alloc(64, bytes[i] / 64 * 64 + 64);
      take(p[i], bytes[i]);
    }
    int32_t status = SHIMS[n](p, NULL);
    if (status) {
      fprintf(stderr, "case %zu: status %d\n", n, (int)status);
      return 1;
    }
    for (size_t i = 0; i < count; i++) {
      if (written[i]) fwrite(p[i], 1, bytes[i], stdout);
      free(p[i]);
    }
  }
  return 0;
}
