/* Stands between a program and Vulkan's loader, and fails where TENFOLD_TEST_FAULT says: "wait:2" is the second call of
   vkWaitForFences and each one behind it, "wait=2" that one alone, likewise "submit", "memory" and "pipelines"; with "room:6" memory has room for six allocations at a time. What was
   submitted is really done: a wait fails behind the real one, so that nothing depends on time. Where TENFOLD_TEST_VERSION has a number, that is the
   version of Vulkan that the loader has. `tenfold_fail` has whatever call fails that comes as the nth. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
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

/* Calls that can fail are counted, whatever they are. The nth one fails with a number, where `on` is set each one behind it too. */
static atomic_int counted, fail_at, fail_with, fail_on;
void tenfold_fail(int at, int with, int on) { counted = 0; fail_at = at; fail_with = with; fail_on = on; }
int tenfold_counted(void) { return counted; }
static int swept(void) {
    int n = atomic_fetch_add(&counted, 1) + 1;
    return fail_at && (fail_on ? n >= fail_at : n == fail_at) ? fail_with : 0;
}

/* Each takes at most eight words. What waits has really waited before it fails, since the device behind it is at work. */
typedef intptr_t word;
typedef int (*any_t)(word, word, word, word, word, word, word, word);
#define OF_INSTANCES(X) X(vkCreateInstance) X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice)
#define OF_DEVICES(X) \
    X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) X(vkBeginCommandBuffer) X(vkBindBufferMemory) \
    X(vkCreateBuffer) X(vkCreateCommandPool) X(vkCreateComputePipelines) X(vkCreateDescriptorPool) X(vkCreateDescriptorSetLayout) \
    X(vkCreateFence) X(vkCreatePipelineCache) X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateShaderModule) \
    X(vkDeviceWaitIdle) X(vkEndCommandBuffer) X(vkGetFenceStatus) X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) X(vkMapMemory) \
    X(vkMergePipelineCaches) X(vkQueueSubmit) X(vkWaitForFences)
#define OF_ENDS(X) \
    X(vkDestroyBuffer) X(vkDestroyCommandPool) X(vkDestroyDescriptorPool) X(vkDestroyDescriptorSetLayout) X(vkDestroyDevice) \
    X(vkDestroyFence) X(vkDestroyPipeline) X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) X(vkDestroyQueryPool) \
    X(vkDestroyShaderModule) X(vkFreeMemory)

/* What was made and is not destroyed is alive. */
static atomic_int there;
int tenfold_alive(void) { return there; }
#define SWEPT(name) \
    static any_t real_##name; \
    static int swept_##name(word a, word b, word c, word d, word e, word f, word g, word h) { \
        int waits = strstr(#name, "Wait") || strstr(#name, "QueryPoolResults"); \
        if (waits) real_##name(a, b, c, d, e, f, g, h); \
        int makes = strstr(#name, "Create") || strstr(#name, "AllocateMemory"), with = swept(); \
        if (!with) with = real_##name(a, b, c, d, e, f, g, h); \
        if (makes && !with) there++; \
        return with; \
    }
#define ENDED(name) \
    static any_t real_##name; \
    static int ended_##name(word a, word b, word c, word d, word e, word f, word g, word h) { \
        if (b || strstr(#name, "Instance") || strstr(#name, "Device")) there--; \
        return real_##name(a, b, c, d, e, f, g, h); \
    }
OF_INSTANCES(SWEPT)
OF_DEVICES(SWEPT)
OF_ENDS(ENDED)
ENDED(vkDestroyInstance)
#define END(known) if (real && !strcmp(name, #known)) return real_##known = (any_t)real, (function)ended_##known;
#define FOUND(known) if (real && !strcmp(name, #known)) return real_##known = (any_t)real, (function)swept_##known;

static function chosen(void *device, const char *name);
static function device_function(void *device, const char *name) {
    function real = chosen(device, name);
    OF_DEVICES(FOUND)
    OF_ENDS(END)
    return real;
}

static function chosen(void *device, const char *name) {
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
    OF_INSTANCES(FOUND)
    END(vkDestroyInstance)
    if (real && !strcmp(name, "vkGetDeviceProcAddr")) {
        of_device = (lookup)real;
        return (function)device_function;
    }
    return real;
}
