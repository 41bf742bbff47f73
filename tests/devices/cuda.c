/* A driver of CUDA with one device, which runs the kernel of these tests on the processor when it is launched.
   TENFOLD_TEST_FAULT fails: "wait:2" is the second wait for a stream and each one behind it, likewise "memory", "load" and
   "launch"; "devices:1" leaves no device. With OLD it lacks what CUDA 11.2 brought. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
typedef uint64_t address;

static atomic_int calls;

static int fails(const char *name) {
    const char *fault = getenv("TENFOLD_TEST_FAULT");
    size_t len = strlen(name);
    if (!fault || strncmp(fault, name, len) || fault[len] != ':') return 0;
    return atomic_fetch_add(&calls, 1) + 1 >= atoi(fault + len + 1);
}

int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { return *count = fails("devices") ? 0 : 1, 0; }
int cuDeviceGetName(char *name, int len, int device) { return strncpy(name, "a test", len), device; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1 << 30, device; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 97: *value = 232448; break;
    default: return 1;
    }
    return device;
}

static __thread int depth;
int cuDevicePrimaryCtxRetain(handle *context, int device) { return *context = &calls, device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxPushCurrent_v2(handle context) { return context == &calls ? depth++, 0 : 201; }
int cuCtxPopCurrent_v2(handle *context) { return *context = &calls, depth-- > 0 ? 0 : 201; }

#define CURRENT if (depth != 1) return 201

int cuStreamCreate(handle *stream, unsigned flags) { CURRENT; return *stream = &depth, flags != 1; }
int cuStreamDestroy_v2(handle stream) { CURRENT; return stream ? 0 : 400; }
int cuStreamSynchronize(handle stream) { CURRENT; return fails("wait") ? 719 : stream ? 0 : 400; }

#ifndef OLD
int cuMemAllocAsync(address *at, size_t bytes, handle stream) {
    CURRENT;
    if (fails("memory")) return 2;
    *at = (address)(uintptr_t)malloc(bytes);
    return stream ? 0 : 400;
}
int cuMemFreeAsync(address at, handle stream) { CURRENT; free((void *)(uintptr_t)at); return stream ? 0 : 400; }
#endif

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, handle stream) {
    CURRENT;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return stream ? 0 : 400;
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, handle stream) {
    CURRENT;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return stream ? 0 : 400;
}
int cuMemsetD8Async(address at, unsigned char byte, size_t bytes, handle stream) {
    CURRENT;
    memset((void *)(uintptr_t)at, byte, bytes);
    return stream ? 0 : 400;
}

int cuModuleLoadData(handle *module, const void *text) {
    CURRENT;
    if (fails("load")) return 218;
    *module = strdup(text);
    return strstr(text, ".target sm_80") ? 0 : 218;
}
int cuModuleUnload(handle module) { CURRENT; free(module); return 0; }
int cuModuleGetFunction(handle *function, handle module, const char *name) {
    CURRENT;
    *function = strstr(module, ".entry scale");
    return *function && !strcmp(name, "scale") ? 0 : 500;
}
int cuFuncSetAttribute(handle function, int attribute, int value) { CURRENT; return function && attribute == 8 && value > 0 ? 0 : 1; }

int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                   unsigned shared, handle stream, void **given, void **extra) {
    CURRENT;
    if (fails("launch")) return 701;
    if (!function || !stream || extra || shared || gy != 1 || gz != 1 || y != 1 || z != 1) return 1;
    const float *from = *(const float **)given[0], *shift = *(const float **)given[1];
    float *to = *(float **)given[2], scale = *(float *)given[4];
    unsigned count = *(unsigned *)given[3];
    for (uint64_t i = 0; i < (uint64_t)gx * x && i < count; i++) {
        volatile float product = scale * from[i];
        to[i] = product + *shift;
    }
    return 0;
}
