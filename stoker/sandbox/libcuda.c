/* STAND-IN for libcuda.so.1, the user half of NVIDIA's driver.
 *
 * Exports what SGLang's sgl_kernel and deep_gemm link against; every call answers 100,
 * CUDA_ERROR_NO_DEVICE, so that nothing tries to compute. When it is loaded it opens the device
 * nodes as a CUDA process does and keeps them, so that such a process is a real holder of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether CUDA_VISIBLE_DEVICES lets the process see that index; unset or a UUID means yes. */
static int visible(int index) {
    const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
    if (!wanted || strstr(wanted, "GPU-")) return 1;
    char list[256], *next = list, *one;
    snprintf(list, sizeof list, "%s", wanted);
    while ((one = strsep(&next, ",")))
        if (*one && atoi(one) == index) return 1;
    return 0;
}

__attribute__((constructor)) static void attach(void) {
    int seen = 0;
    for (int index = 0; index < 16; index++) {
        char name[16];
        snprintf(name, sizeof name, "nvidia%d", index);
        if (visible(index)) hold(name), seen = 1;
    }
    if (seen) hold("nvidiactl"), hold("nvidia-uvm");
}
