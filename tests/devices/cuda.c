/* A driver of CUDA with two devices, which run the kernel of these tests on the processor when it is launched.
   TENFOLD_TEST_FAULT fails: "wait:2" is the second wait for a stream and each one behind it, "wait=2" that one alone, likewise
   "memory", "load", "launch", "lost" (a launch), "event" (a wait for one), "pending" (one that is not done), "host"
   (memory of the processor's), "node" (a launch
   of a graph), "graph" (making it ready) and "replay", and "map" (what describes a tensor); "devices:1" leaves no device. With OLD it lacks what CUDA 11.2
   brought. `tenfold_fail` has whatever call fails that comes as the nth. */
#include <pthread.h>
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
    if (!fault || strncmp(fault, name, len) || (fault[len] != ':' && fault[len] != '=')) return 0;
    int call = atomic_fetch_add(&calls, 1) + 1, nth = atoi(fault + len + 1);
    return fault[len] == '=' ? call == nth : call >= nth;
}

/* Calls that make or do something are counted, whatever they are. The nth one fails with a number, where `on` is set each one behind it
   too; those that give something back are not counted, nor do they fail. What is made and not given back is alive. */
static atomic_int counted, fail_at, fail_with, fail_on, alive;
void tenfold_fail(int at, int with, int on) { counted = 0; fail_at = at; fail_with = with; fail_on = on; }
int tenfold_counted(void) { return counted; }
int tenfold_alive(void) { return alive; }
static void is_made(void) { alive++; }
static void is_gone(void) { alive--; }
static int swept(void) {
    int n = atomic_fetch_add(&counted, 1) + 1;
    return fail_at && (fail_on ? n >= fail_at : n == fail_at) ? fail_with : 0;
}
#define SWEPT do { int with = swept(); if (with) return with; } while (0)

int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { SWEPT; return *count = fails("devices") ? 0 : 2, 0; }
int cuDeviceGetName(char *name, int len, int device) { SWEPT; return strncpy(name, device ? "another" : "a test", len), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { SWEPT; return *bytes = 1 << 30, device >> 1; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    SWEPT;
    switch (attribute) {
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 97: *value = 232448; break;
    default: return 1;
    }
    return device >> 1;
}

/* A context is its device's place here. What is current is looked at in each call that needs a context. */
static char contexts[2];
static __thread handle current;
static __thread int depth;
int cuDevicePrimaryCtxRetain(handle *context, int device) { SWEPT; return is_made(), *context = &contexts[device], device >> 1; }
int cuDevicePrimaryCtxRelease_v2(int device) { return is_gone(), device >> 1; }
int cuCtxPushCurrent_v2(handle context) {
    return context == &contexts[0] || context == &contexts[1] ? current = context, depth++, 0 : 201;
}
int cuCtxPopCurrent_v2(handle *context) { return *context = current, depth-- > 0 ? 0 : 201; }
int cuCtxGetDevice(int *device) { return *device = current == &contexts[1], depth != 1; }

#define HERE if (depth != 1) return 201
#define CURRENT HERE; SWEPT

struct stream { handle context; };

/* Copies from memory that a device reads by itself happen as late as they may: with the next thing that a stream is given,
   or when somebody asks whether they are done. */
static struct { void *to; const void *from; size_t bytes; } late[64];
static int waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void flush(void) {
    pthread_mutex_lock(&lock);
    for (int n = 0; n < waiting; n++) memcpy(late[n].to, late[n].from, late[n].bytes);
    waiting = 0;
    pthread_mutex_unlock(&lock);
}

/* That a stream is one of the current context. What was late is done. */
static int wrong(const struct stream *stream) { return flush(), stream && stream->context == current ? 0 : 400; }

int cuStreamCreate(struct stream **stream, unsigned flags) {
    CURRENT;
    *stream = malloc(sizeof **stream);
    return is_made(), (*stream)->context = current, flags != 1;
}
int cuStreamDestroy_v2(struct stream *stream) { HERE; int is = wrong(stream); return is_gone(), free(stream), is; }
int cuStreamSynchronize(handle stream) { CURRENT; return fails("wait") ? 719 : wrong(stream); }
int cuStreamGetCtx(struct stream *stream, handle *context) { return stream ? *context = stream->context, 0 : 201; }

/* Half a millisecond goes by from one event to the next. */
int cuEventCreate(handle *event, unsigned flags) { CURRENT; return is_made(), *event = calloc(1, sizeof(float)), flags & ~2; }
int cuEventDestroy_v2(handle event) { HERE; return is_gone(), free(event), 0; }
int cuEventRecord(float *event, handle stream) {
    static atomic_int ticks;
    CURRENT;
    return *event = 0.5f * atomic_fetch_add(&ticks, 1), stream ? 0 : 400;
}
int cuEventQuery(handle event) {
    CURRENT;
    if (fails("pending")) return 600;
    return flush(), !event;
}
int cuEventSynchronize(handle event) { CURRENT; return flush(), fails("event") ? 719 : !event; }
int cuEventElapsedTime(float *time, const float *from, const float *to) { CURRENT; return *time = *to - *from, 0; }

#ifndef OLD
/* Where memory is short, a pool has some again once it has given back what it keeps. */
static atomic_int kept;
static int allocate(address *at, size_t bytes, handle stream) {
    if (fails("memory")) kept = 1;
    if (kept) return 2;
    *at = (address)(uintptr_t)malloc(bytes);
    return is_made(), wrong(stream);
}
int cuMemAllocAsync(address *at, size_t bytes, handle stream) { CURRENT; return allocate(at, bytes, stream); }
int cuMemAllocFromPoolAsync(address *at, size_t bytes, handle pool, handle stream) {
    CURRENT;
    return pool == current ? allocate(at, bytes, stream) : 1;
}
int cuMemFreeAsync(address at, handle stream) {
    HERE;
    int is = wrong(stream);
    return is_gone(), free((void *)(uintptr_t)at), is;
}
struct props { int type, handles, location, device; void *security; char reserved[64]; };
int cuMemPoolCreate(handle *pool, const struct props *props) {
    CURRENT;
    for (int n = 0; n < 64; n++)
        if (props->reserved[n]) return 1;
    return is_made(), *pool = current, props->type != 1 || props->handles || props->location != 1 || &contexts[props->device] != current;
}
int cuMemPoolDestroy(handle pool) { HERE; return is_gone(), pool != current; }
int cuMemPoolSetAttribute(handle pool, int attribute, const uint64_t *value) {
    CURRENT;
    return pool != current || attribute != 4 || ~*value;
}
int cuMemPoolTrimTo(handle pool, size_t bytes) {
    CURRENT;
    kept = 0;
    return pool != current || bytes;
}
#endif

static struct { char *at; size_t bytes; } pinned[256];
int cuMemHostAlloc(handle *at, size_t bytes, unsigned flags) {
    CURRENT;
    if (fails("host")) return 2;
    pthread_mutex_lock(&lock);
    int n = 0;
    while (n < 255 && pinned[n].at) n++;
    *at = pinned[n].at = malloc(bytes), pinned[n].bytes = bytes;
    pthread_mutex_unlock(&lock);
    return n == 255 ? 2 : (is_made(), flags);
}
int cuMemFreeHost(handle at) {
    HERE;
    flush();
    for (int n = 0; n < 255; n++)
        if (pinned[n].at == at) return is_gone(), pinned[n].at = 0, free(at), 0;
    return 1;
}
static int is_pinned(const char *from) {
    for (int n = 0; n < 255; n++)
        if (pinned[n].at && from >= pinned[n].at && from < pinned[n].at + pinned[n].bytes) return 1;
    return 0;
}

static int copy(void *to, const void *from, size_t bytes, int is_late, handle stream) {
    int is = wrong(stream);
    pthread_mutex_lock(&lock);
    if (is_late) late[waiting].to = to, late[waiting].from = from, late[waiting++].bytes = bytes;
    else memcpy(to, from, bytes);
    pthread_mutex_unlock(&lock);
    return is;
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, handle stream) {
    CURRENT;
    return copy((void *)(uintptr_t)to, from, bytes, is_pinned(from), stream);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, handle stream) {
    CURRENT;
    return copy(to, (void *)(uintptr_t)from, bytes, is_pinned(to), stream);
}
int cuMemsetD8Async(address at, unsigned char byte, size_t bytes, handle stream) {
    CURRENT;
    int is = wrong(stream);
    memset((void *)(uintptr_t)at, byte, bytes);
    return is;
}

/* The log of errors is the fifth option, its bytes are the sixth. */
int cuModuleLoadDataEx(handle *module, const void *text, unsigned count, const int *options, void **values) {
    CURRENT;
    if (count != 2 || options[0] != 5 || options[1] != 6) return 1;
    if (fails("load")) {
        strncpy(values[0], "line 3\n  error: no such thing  \n", (size_t)values[1]);
        return 218;
    }
    if (!strstr(text, ".target sm_80")) return 218;
    return is_made(), *module = strdup(text), 0;
}
int cuModuleUnload(handle module) { HERE; return is_gone(), free(module), 0; }
int cuModuleGetFunction(handle *function, handle module, const char *name) {
    CURRENT;
    *function = strstr(module, ".entry scale");
    return *function && !strcmp(name, "scale") ? 0 : 500;
}

/* The shared memory beyond 48 KB that the last function which asked for some is allowed. */
static handle granted_to;
static unsigned granted;
int cuFuncSetAttribute(handle function, int attribute, int value) {
    CURRENT;
    granted_to = function, granted = (unsigned)value;
    return function && attribute == 8 && value > 48 << 10 && value <= 232448 ? 0 : 1;
}
static int has_shared(handle function, unsigned shared) {
    return shared <= 48 << 10 || (function == granted_to && shared <= granted);
}

/* What describes a tensor, where a kernel takes it: the tensor is the first argument then. */
struct map { address at; int type, rank; uint64_t extents[2], stride; unsigned widths[2], made; };
#define MADE 0x6d617021
int cuTensorMapEncodeTiled(struct map *map, int type, unsigned rank, void *at, const uint64_t *extents,
                           const uint64_t *strides, const unsigned *widths, const unsigned *steps, int interleave, int swizzle,
                           int promotion, int outside) {
    CURRENT;
    if (fails("map")) return 1;
    if ((uintptr_t)map % 64 || (uintptr_t)at % 16 || rank != 2 || strides[0] % 16 || steps[0] != 1 || steps[1] != 1) return 1;
    if (interleave || swizzle != 3 || promotion < 0 || promotion > 3 || outside) return 1;
    struct map made = {(address)(uintptr_t)at, type, 2, {extents[0], extents[1]}, strides[0], {widths[0], widths[1]}, MADE};
    return *map = made, 0;
}

static int is_mapped(const struct map *map, const float *from, unsigned count) {
    return map->made == MADE && map->at == (address)(uintptr_t)from && map->type == 7 && map->extents[0] == 4 &&
           map->extents[1] * 4 == count && map->stride == 16 && map->widths[0] == 32 && map->widths[1] == 8;
}

/* The arguments are those of the one kernel. */
static int run(const char *function, unsigned gx, unsigned x, void **given) {
    const float *from = *(const float **)given[0], *shift = *(const float **)given[1];
    if (strstr(function, "tensors") && !is_mapped(given[5], from, *(unsigned *)given[3])) return 1;
    float *to = *(float **)given[2], scale = *(float *)given[4];
    unsigned count = *(unsigned *)given[3];
    for (uint64_t i = 0; i < (uint64_t)gx * x && i < count; i++) {
        volatile float product = scale * from[i];
        to[i] = product + *shift;
    }
    return 0;
}

int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                   unsigned shared, handle stream, void **given, void **extra) {
    CURRENT;
    if (fails("launch")) return 701;
    if (fails("lost")) return 719;
    if (!function || wrong(stream) || extra || !has_shared(function, shared) || gy != 1 || gz != 1 || y != 1 || z != 1) return 1;
    return run(function, gx, x, given);
}

/* A graph runs the last of the launches that may run first, so that one that should wait and does not is seen. */
struct params { handle function; unsigned grid[3], block[3], shared; void **given, **extra; };
struct node { const char *function; unsigned grid, block; uint64_t words[5]; struct map map; void *given[6]; struct node *before[8]; size_t count; int done; };
struct graph { struct node nodes[8]; size_t count; };

int cuGraphCreate(handle *graph, unsigned flags) { CURRENT; return is_made(), *graph = calloc(1, sizeof(struct graph)), flags; }
int cuGraphAddKernelNode(handle *made, handle at, const handle *before, size_t count, const struct params *params) {
    CURRENT;
    struct graph *graph = at;
    if (fails("node")) return 701;
    if (!params->function || params->extra || !has_shared(params->function, params->shared) || count > 8 || graph->count == 8) return 1;
    struct node *node = &graph->nodes[graph->count++];
    node->grid = params->grid[0], node->block = params->block[0];
    node->function = params->function;
    for (int n = 0; n < 5; n++) memcpy(&node->words[n], params->given[n], 8);
    if (strstr(params->function, "tensors")) node->map = *(struct map *)params->given[5];
    for (node->count = 0; node->count < count; node->count++) node->before[node->count] = before[node->count];
    return *made = node, 0;
}
int cuGraphDestroy(handle graph) { HERE; return is_gone(), free(graph), 0; }
int cuGraphInstantiateWithFlags(handle *made, handle at, unsigned long long flags) {
    CURRENT;
    if (fails("graph")) return 2;
    struct graph *graph = at, *copy = calloc(1, sizeof *copy);
    copy->count = graph->count;
    for (size_t n = 0; n < graph->count; n++) {
        copy->nodes[n] = graph->nodes[n];
        for (int k = 0; k < 5; k++) copy->nodes[n].given[k] = &copy->nodes[n].words[k];
        copy->nodes[n].given[5] = &copy->nodes[n].map;
        for (size_t k = 0; k < copy->nodes[n].count; k++)
            copy->nodes[n].before[k] = copy->nodes + (graph->nodes[n].before[k] - graph->nodes);
    }
    return is_made(), *made = copy, flags != 0;
}
int cuGraphLaunch(handle at, handle stream) {
    CURRENT;
    struct graph *graph = at;
    int is = wrong(stream);
    if (fails("replay")) return 719;
    for (size_t n = 0; n < graph->count; n++) graph->nodes[n].done = 0;
    for (size_t left = graph->count; left; left--)
        for (size_t n = graph->count; n-- > 0;) {
            struct node *node = &graph->nodes[n];
            int ready = !node->done;
            for (size_t k = 0; k < node->count; k++) ready &= node->before[k]->done;
            if (!ready) continue;
            is |= run(node->function, node->grid, node->block, node->given);
            node->done = 1;
            break;
        }
    return is;
}
int cuGraphExecDestroy(handle graph) { HERE; return is_gone(), free(graph), 0; }
