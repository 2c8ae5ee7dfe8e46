/* STAND-IN for libcuda.so.1, the user half of NVIDIA's driver.
 *
 * Exports what SGLang's sgl_kernel and deep_gemm link against; every call answers 100,
 * CUDA_ERROR_NO_DEVICE, so that nothing tries to compute. When it is loaded it opens the nodes of the
 * GPUs that it may see, as a CUDA process does, and keeps them: the process is a real holder of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_DEVICE 100
#define ANSWER(name) \
    int name(void) { return NO_DEVICE; }
#include "symbols.h"

int cuGetErrorString(int error, const char **text) {
    *text = "no CUDA-capable device is detected (stand-in)";
    return error == NO_DEVICE ? 0 : 1;
}

int cuGetErrorName(int error, const char **text) {
    *text = "CUDA_ERROR_NO_DEVICE";
    return error == NO_DEVICE ? 0 : 1;
}

static void hold(const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/dev/%s", name);
    open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* UUID of the GPU with that minor, from the list that lies beside the GPUs' state. */
static void uuid_of(int minor, char *uuid) {
    int number;
    FILE *list = fopen("/var/lib/stoker-gpu/uuids", "r");
    *uuid = 0;
    while (list && fscanf(list, "%d %63s", &number, uuid) == 2)
        if (number == minor) break;
    if (list) fclose(list);
}

/* Whether CUDA_VISIBLE_DEVICES lets the process see a GPU: by index among those that are here, or
 * by the beginning of its UUID. Unset means all. */
static int visible(int index, int minor) {
    const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
    if (!wanted) return 1;
    char list[1024], *next = list, *one, uuid[64];
    snprintf(list, sizeof list, "%s", wanted);
    uuid_of(minor, uuid);
    while ((one = strsep(&next, ","))) {
        if (!strncmp(one, "GPU-", 4) && !strncmp(one, uuid, strlen(one))) return 1;
        if (*one >= '0' && *one <= '9' && atoi(one) == index) return 1;
    }
    return 0;
}

__attribute__((constructor)) static void attach(void) {
    int seen = 0, index = 0;
    for (int minor = 0; minor < 16; minor++) {
        char name[16], path[32];
        snprintf(name, sizeof name, "nvidia%d", minor);
        snprintf(path, sizeof path, "/dev/%s", name);
        if (access(path, R_OK | W_OK)) continue;
        if (visible(index++, minor)) hold(name), seen = 1;
    }
    if (seen) hold("nvidiactl"), hold("nvidia-uvm");
}
