/* Stands between a program and Vulkan's loader, and fails where TENFOLD_TEST_FAULT says: "wait:2" is the second call of
   vkWaitForFences and each one behind it, "wait=2" that one alone, likewise "submit", "memory" and "pipelines"; with "room:6" memory has room for six allocations at a time. What was
   submitted is really done: a wait fails behind the real one, so that nothing depends on time. Where TENFOLD_TEST_VERSION has a number, that is the
   version of Vulkan that the loader has. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef function (*lookup)(void *, const char *);
typedef int (*submit_t)(void *, unsigned, const void *, void *);
typedef int (*wait_t)(void *, unsigned, void *const *, unsigned, unsigned long long);
typedef int (*allocate_t)(void *, const void *, const void *, void **);
typedef void (*release_t)(void *, void *, const void *);

typedef int (*pipelines_t)(void *, void *, unsigned, const void *, const void *, void **);

static lookup of_instance, of_device;
static submit_t real_submit;
static wait_t real_wait;
static allocate_t real_allocate;
static release_t real_release;
static pipelines_t real_pipelines;
static atomic_int calls, alive;

static int fails(const char *name) {
    const char *fault = getenv("TENFOLD_TEST_FAULT");
    size_t len = strlen(name);
    if (!fault || strncmp(fault, name, len) || (fault[len] != ':' && fault[len] != '=')) return 0;
    int call = atomic_fetch_add(&calls, 1) + 1, nth = atoi(fault + len + 1);
    return fault[len] == '=' ? call == nth : call >= nth;
}

static int submit(void *queue, unsigned count, const void *infos, void *fence) {
    return fails("submit") ? -4 : real_submit(queue, count, infos, fence);
}

static int wait(void *device, unsigned count, void *const *fences, unsigned all, unsigned long long time) {
    int result = real_wait(device, count, fences, all, time);
    return fails("wait") ? -4 : result;
}

/* Whether as many allocations are alive as memory has room for. */
static int is_full(void) {
    const char *fault = getenv("TENFOLD_TEST_FAULT");
    return fault && !strncmp(fault, "room:", 5) && atomic_load(&alive) >= atoi(fault + 5);
}

static int allocate(void *device, const void *info, const void *host, void **memory) {
    if (is_full() || fails("memory")) return -2;
    atomic_fetch_add(&alive, 1);
    return real_allocate(device, info, host, memory);
}

static void release(void *device, void *memory, const void *host) {
    if (memory) atomic_fetch_sub(&alive, 1);
    real_release(device, memory, host);
}

static int pipelines(void *device, void *cache, unsigned count, const void *infos, const void *host, void **made) {
    if (!fails("pipelines")) return real_pipelines(device, cache, count, infos, host, made);
    memset(made, 0, count * sizeof *made);
    return -3;
}

static function device_function(void *device, const char *name) {
    function real = of_device(device, name);
    if (!strcmp(name, "vkQueueSubmit")) {
        real_submit = (submit_t)real;
        return (function)submit;
    }
    if (!strcmp(name, "vkWaitForFences")) {
        real_wait = (wait_t)real;
        return (function)wait;
    }
    if (!strcmp(name, "vkAllocateMemory")) {
        real_allocate = (allocate_t)real;
        return (function)allocate;
    }
    if (!strcmp(name, "vkFreeMemory")) {
        real_release = (release_t)real;
        return (function)release;
    }
    if (!strcmp(name, "vkCreateComputePipelines")) {
        real_pipelines = (pipelines_t)real;
        return (function)pipelines;
    }
    return real;
}

static int version(unsigned *number) {
    *number = atoi(getenv("TENFOLD_TEST_VERSION"));
    return 0;
}

function vkGetInstanceProcAddr(void *instance, const char *name) {
    if (!of_instance) {
        void *loader = dlopen(getenv("TENFOLD_TEST_LOADER"), RTLD_NOW | RTLD_LOCAL);
        if (!loader) return 0;
        of_instance = (lookup)dlsym(loader, "vkGetInstanceProcAddr");
    }
    function real = of_instance(instance, name);
    if (real && getenv("TENFOLD_TEST_VERSION") && !strcmp(name, "vkEnumerateInstanceVersion")) return (function)version;
    if (real && !strcmp(name, "vkGetDeviceProcAddr")) {
        of_device = (lookup)real;
        return (function)device_function;
    }
    return real;
}
