/* A driver of CUDA with one device that runs no kernel: it looks whether what it is given fits the PTX, and writes a line
   for each launch to the file that TENFOLD_TEST_LOG names. TENFOLD_TEST_CAPABILITY is that of the device, 90 for 9.0. With
   TENFOLD_TEST_FAULT=load it takes no module. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
typedef uint64_t address;

static char here;

int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGetName(char *name, int len, int device) { return strncpy(name, "a test", len), device; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1 << 30, device; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = atoi(getenv("TENFOLD_TEST_CAPABILITY"));
    switch (attribute) {
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 75: *value = capability / 10; break;
    case 76: *value = capability % 10; break;
    case 97: *value = 232448; break;
    default: return 1;
    }
    return device;
}
int cuDevicePrimaryCtxRetain(handle *context, int device) { return *context = &here, device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
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

/* Memory that is there: where it begins and how long it is. */
static struct { address at; size_t bytes; } memory[1024];

int cuMemPoolCreate(handle *pool, const int *props) { return *pool = &here, props[0] != 1; }
int cuMemPoolDestroy(handle pool) { return pool != &here; }
int cuMemPoolSetAttribute(handle pool, int attribute, const uint64_t *value) { return pool != &here || attribute != 4 || ~*value; }
int cuMemPoolTrimTo(handle pool, size_t bytes) { return pool != &here || bytes; }
int cuMemHostAlloc(handle *at, size_t bytes, unsigned flags) { return *at = malloc(bytes), flags; }
int cuMemFreeHost(handle at) { return free(at), 0; }
int cuMemAllocAsync(address *at, size_t bytes, handle stream) {
    for (int n = 0; n < 1024; n++)
        if (!memory[n].at) {
            memory[n].at = *at = (address)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
            memory[n].bytes = bytes;
            memset((void *)(uintptr_t)*at, 0, bytes);
            return stream != &here;
        }
    return 2;
}
int cuMemAllocFromPoolAsync(address *at, size_t bytes, handle pool, handle stream) {
    return pool != &here ? 1 : cuMemAllocAsync(at, bytes, stream);
}
int cuMemFreeAsync(address at, handle stream) {
    for (int n = 0; n < 1024; n++)
        if (memory[n].at == at) return memory[n].at = 0, free((void *)(uintptr_t)at), 0;
    return 1;
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, handle stream) {
    return memcpy((void *)(uintptr_t)to, from, bytes), stream != &here;
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, handle stream) {
    return memcpy(to, (void *)(uintptr_t)from, bytes), stream != &here;
}
int cuMemsetD8Async(address at, unsigned char byte, size_t bytes, handle stream) {
    return memset((void *)(uintptr_t)at, byte, bytes), stream != &here;
}

int cuModuleLoadDataEx(handle *module, const void *text, unsigned count, const int *options, void **values) {
    const char *fault = getenv("TENFOLD_TEST_FAULT"), *chip = strstr(text, ".target sm_");
    int capability = atoi(getenv("TENFOLD_TEST_CAPABILITY"));
    if (count != 2 || options[0] != 5 || options[1] != 6) return 1;
    if (fault && !strcmp(fault, "load")) return strncpy(values[0], "not today", (size_t)values[1]), 218;
    if (!chip || !strstr(text, ".address_size 64")) return 218;
    /* An `a` behind the chip is for that chip alone. */
    int wanted = atoi(chip + 11), alone = chip[strspn(chip + 11, "0123456789") + 11] == 'a';
    if (alone ? wanted != capability : wanted > capability) return 209;
    return *module = strdup(text), 0;
}
int cuModuleUnload(handle module) { return free(module), 0; }
int cuModuleGetFunction(handle *function, handle module, const char *name) {
    char entry[256];
    snprintf(entry, sizeof entry, ".visible .entry %s(", name);
    return (*function = strstr(module, entry)) ? 0 : 500;
}
/* How many bytes of memory that is there lie from an address on. */
static size_t left_from(address at) {
    for (int n = 0; n < 1024; n++)
        if (memory[n].at && at >= memory[n].at && at < memory[n].at + memory[n].bytes + !memory[n].bytes)
            return memory[n].at + memory[n].bytes - at;
    return 0;
}

/* A tensor whose last line begins in memory that is there. */
int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, void *at, const uint64_t *extents, const uint64_t *strides,
                           const unsigned *boxes, const unsigned *steps, int interleave, int swizzle, int promotion, int outside) {
    uint64_t last = 0;
    if ((uintptr_t)map % 64 || (uintptr_t)at % 16 || rank < 2 || rank > 5 || type != 9) return 1;
    if (interleave || swizzle != 3 || promotion < 0 || promotion > 3 || outside) return 1;
    for (unsigned n = 0; n < rank; n++)
        if (!boxes[n] || boxes[n] > 256 || steps[n] != 1) return 1;
    for (unsigned n = 1; n < rank; n++) {
        if (strides[n - 1] % 16) return 1;
        last += (extents[n] - 1) * strides[n - 1];
    }
    return left_from((address)(uintptr_t)at) <= last;
}

/* The shared memory beyond 48 KB that the last function which asked for some is allowed. */
static handle granted_to;
static unsigned granted;
int cuFuncSetAttribute(handle function, int attribute, int value) {
    granted_to = function, granted = (unsigned)value;
    return !(function && attribute == 8 && value > 48 << 10 && value <= 232448);
}

int cuLaunchKernel(char *function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                   unsigned shared, handle stream, void **given, void **extra) {
    unsigned block[3] = {0}, args = 0;
    const char *threads = strstr(function, ".reqntid "), *end = strchr(function, ')');
    if (stream != &here || extra || !threads || !end || !gx || !gy || !gz) return 1;
    if (sscanf(threads, ".reqntid %u, %u, %u", &block[0], &block[1], &block[2]) != 3) return 1;
    if (x != block[0] || y != block[1] || z != block[2]) return 701;
    if (shared > 48 << 10 && (function != granted_to || shared > granted)) return 1;
    const char *text = function;
    while (text > (const char *)0 && strncmp(text, ".target ", 8)) text--;
    FILE *log = fopen(getenv("TENFOLD_TEST_LOG"), "a");
    fprintf(log, "%.*s %.*s grid %u %u %u block %u %u %u shared %u args", (int)strcspn(function + 16, "("), function + 16,
            (int)strcspn(text + 8, "\n"), text + 8, gx, gy, gz, x, y, z, shared);
    for (const char *at = strstr(function, ".param "); at && at < end; at = strstr(at + 1, ".param "), args++) {
        if (strncmp(at, ".param .u64 .ptr .align 16 ", 27)) {
            fprintf(log, " %.*s", (int)strcspn(at + 7, " "), at + 7);
            continue;
        }
        /* A buffer lies in memory that is there, and what is left of that is what the kernel may touch. */
        address buffer = *(address *)given[args];
        size_t left = left_from(buffer);
        if (!left || buffer % 16) return fclose(log), 700;
        fprintf(log, " %zu", left);
    }
    fprintf(log, "\n");
    return fclose(log);
}

/* A launch of a graph is looked at when it is added; starting the graph says how many there are. */
struct params { char *function; unsigned grid[3], block[3], shared; void **given, **extra; };

int cuGraphCreate(int **graph, unsigned flags) { return *graph = calloc(1, sizeof(int)), flags; }
int cuGraphAddKernelNode(handle *node, int *graph, const handle *before, size_t count, const struct params *params) {
    const unsigned *grid = params->grid, *block = params->block;
    *node = graph, ++*graph;
    for (size_t n = 0; n < count; n++)
        if (before[n] != graph) return 1;
    return cuLaunchKernel(params->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], params->shared, &here,
                          params->given, params->extra);
}
int cuGraphDestroy(int *graph) { return free(graph), 0; }
int cuGraphInstantiateWithFlags(int **made, const int *graph, unsigned long long flags) {
    return *made = malloc(sizeof(int)), **made = *graph, flags != 0;
}
int cuGraphLaunch(const int *graph, handle stream) {
    FILE *log = fopen(getenv("TENFOLD_TEST_LOG"), "a");
    fprintf(log, "graph of %d\n", *graph);
    return fclose(log) || stream != &here;
}
int cuGraphExecDestroy(int *graph) { return free(graph), 0; }
