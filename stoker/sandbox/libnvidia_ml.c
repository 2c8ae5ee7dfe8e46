/* STAND-IN for libnvidia-ml.so.1, NVML: there to be found and compared; every call answers 9,
 * NVML_ERROR_DRIVER_NOT_LOADED. */
#define ANSWER(name) \
    int name(void) { return 9; }
#include "symbols.h"
