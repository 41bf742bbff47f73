/* TCC has no functions of its own in the place of `fabs` and `fabsf`, and objects call no library. */
#include <math.h>
#include <stdint.h>

static float quick_fabsf(float x) {
  union { float f; uint32_t u; } v;
  v.f = x;
  v.u &= UINT32_MAX >> 1;
  return v.f;
}

static double quick_fabs(double x) {
  union { double f; uint64_t u; } v;
  v.f = x;
  v.u &= UINT64_MAX >> 1;
  return v.f;
}

#define fabs quick_fabs
#define fabsf quick_fabsf
