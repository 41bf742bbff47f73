/* A driver of CUDA whose device is the interpreter of PTX in the process that has opened it: what needs a device is handed
   on to functions that the process gives, all else is said here. There are two devices, as small as one that has to run such
   code may be: of capability 8.6, and 9.0. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
typedef uint64_t address;

struct calls {
    address (*allocate)(size_t bytes);
    int (*free)(address at);
    int (*write)(address to, const void *from, size_t bytes);
    int (*read)(void *to, address from, size_t bytes);
    handle (*load)(const char *text, char *log, size_t room);
    void (*unload)(handle module);
    handle (*function)(handle module, const char *name);
    int (*launch)(handle function, const unsigned *grid, const unsigned *block, unsigned shared, void **given);
    int (*describe)(void *map, address at, unsigned element, unsigned rank, const uint64_t *extents, const uint64_t *strides,
                    const unsigned *widths);
};

static struct calls calls;
static char here;

void tenfold_interpreter(const struct calls *given) { calls = *given; }

int cuInit(unsigned flags) { return flags || !calls.launch; }
int cuDeviceGetCount(int *count) { return *count = 2, 0; }
int cuDeviceGetName(char *name, int len, int device) { return strncpy(name, "the interpreter", len), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1 << 30, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 75: *value = device ? 9 : 8; break;
    case 76: *value = device ? 0 : 6; break;
    case 97: *value = device ? 232448 : 101376; break;
    default: return 1;
    }
    return 0;
}
int cuDevicePrimaryCtxRetain(handle *context, int device) { return *context = &here, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxPushCurrent_v2(handle context) { return context != &here; }
int cuCtxPopCurrent_v2(handle *context) { return *context = &here, 0; }
int cuCtxGetDevice(int *device) { return *device = 0, 0; }
int cuStreamGetCtx(handle stream, handle *context) { return *context = &here, stream != &here; }
int cuEventCreate(handle *event, unsigned flags) { return *event = &here, flags & ~2; }
int cuEventDestroy_v2(handle event) { return event != &here; }
int cuEventRecord(handle event, handle stream) { return event != stream; }
int cuEventQuery(handle event) { return event != &here; }
int cuEventSynchronize(handle event) { return event != &here; }
int cuEventElapsedTime(float *time, handle from, handle to) { return *time = 1, from != to; }
int cuStreamCreate(handle *stream, unsigned flags) { return *stream = &here, flags != 1; }
int cuStreamDestroy_v2(handle stream) { return stream != &here; }
int cuStreamSynchronize(handle stream) { return stream != &here; }

int cuMemPoolCreate(handle *pool, const int *props) { return *pool = &here, props[0] != 1; }
int cuMemPoolDestroy(handle pool) { return pool != &here; }
int cuMemPoolSetAttribute(handle pool, int attribute, const uint64_t *value) { return attribute != 4 || ~*value; }
int cuMemPoolTrimTo(handle pool, size_t bytes) { return pool != &here || bytes; }
int cuMemHostAlloc(handle *at, size_t bytes, unsigned flags) { return *at = malloc(bytes), flags; }
int cuMemFreeHost(handle at) { return free(at), 0; }
int cuMemAllocAsync(address *at, size_t bytes, handle stream) { return *at = calls.allocate(bytes), stream != &here; }
int cuMemAllocFromPoolAsync(address *at, size_t bytes, handle pool, handle stream) {
    return pool != &here ? 1 : cuMemAllocAsync(at, bytes, stream);
}
int cuMemFreeAsync(address at, handle stream) { return stream != &here ? 1 : calls.free(at); }
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, handle stream) { return calls.write(to, from, bytes); }
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, handle stream) { return calls.read(to, from, bytes); }
int cuMemsetD8Async(address at, unsigned char byte, size_t bytes, handle stream) {
    void *all = malloc(bytes + 1);
    int code = all ? calls.write(at, memset(all, byte, bytes), bytes) : 2;
    return free(all), code;
}

int cuModuleLoadDataEx(handle *module, const void *text, unsigned count, const int *options, void **values) {
    if (count != 2 || options[0] != 5 || options[1] != 6) return 1;
    return (*module = calls.load(text, values[0], (size_t)values[1])) ? 0 : 218;
}
int cuModuleUnload(handle module) { return calls.unload(module), 0; }
int cuModuleGetFunction(handle *function, handle module, const char *name) {
    return (*function = calls.function(module, name)) ? 0 : 500;
}
int cuFuncSetAttribute(handle function, int attribute, int value) {
    return attribute != 8 || value > 232448;
}
int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                   unsigned shared, handle stream, void **given, void **extra) {
    unsigned grid[3] = {gx, gy, gz}, block[3] = {x, y, z};
    return stream != &here || extra ? 1 : calls.launch(function, grid, block, shared, given);
}

/* Boxes whose lines are in the order of the swizzle by 128 bytes, of neighbours, with zeros outside of the tensor. */
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *at, const uint64_t *extents, const uint64_t *strides,
                           const unsigned *widths, const unsigned *steps, int interleave, int swizzle, int promotion,
                           int outside) {
    static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    if (type < 0 || type > 9 || interleave || swizzle != 3 || outside) return 1;
    for (unsigned n = 0; n < rank; n++)
        if (steps[n] != 1) return 1;
    return calls.describe(map, (address)(uintptr_t)at, bytes[type], rank, extents, strides, widths);
}
