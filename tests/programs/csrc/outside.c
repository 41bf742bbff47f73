/* Functions of C that `src/outside.rs` calls. */
#include <stddef.h>
#include <stdint.h>

/* Every kind of scalar, as the C convention passes it; `out` holds what arrived. */
void outside_scalars(uint8_t b, int8_t i, uint16_t u, uint16_t half, float f, double d, int64_t n, double *out) {
  out[0] = b;
  out[1] = i;
  out[2] = u;
  out[3] = half;
  out[4] = f;
  out[5] = d;
  out[6] = (double)n;
}

/* Moving average of three, with the ends repeated. */
void outside_smooth(const float *x, int64_t n, float *y) {
  for (int64_t i = 0; i < n; i++) {
    float a = x[i > 0 ? i - 1 : 0], b = x[i + 1 < n ? i + 1 : n - 1];
    y[i] = (a + x[i] + b) / 3.0f;
  }
}

/* Counts a call and keeps the greatest element. */
void outside_note(const float *x, int64_t n, uint32_t *calls, float *greatest) {
  *calls += 1;
  for (int64_t i = 0; i < n; i++)
    if (x[i] > *greatest) *greatest = x[i];
}

/* relu(x * w + b); the extents of the operands follow them, axis by axis. */
void outside_dense(const float *x, const float *w, const float *b, int64_t m, int64_t k, int64_t k2, int64_t n,
                   int64_t n2, float *y) {
  (void)k2, (void)n2;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = b[j];
      for (int64_t t = 0; t < k; t++) sum += x[i * k + t] * w[t * n + j];
      y[i * n + j] = sum > 0.0f ? sum : 0.0f;
    }
}
