// Holds memory of GPU 0 until it is killed: argv[1] MiB. With "fork" as argv[2] a child that
// inherited every file goes on after the parent; with "ignore-term" SIGTERM does nothing.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <cuda_runtime.h>

__global__ void touch(char *memory, size_t size) {
    for (size_t at = threadIdx.x; at < size; at += blockDim.x * 4096UL) memory[at] = 1;
}

int main(int argc, char **argv) {
    size_t size = strtoul(argc > 1 ? argv[1] : "4096", nullptr, 10) << 20;
    const char *how = argc > 2 ? argv[2] : "";
    if (!strcmp(how, "ignore-term")) signal(SIGTERM, SIG_IGN);
    char *memory = nullptr;
    cudaError_t error = cudaMalloc(&memory, size);
    if (error == cudaSuccess) {
        touch<<<1, 256>>>(memory, size);
        error = cudaDeviceSynchronize();
    }
    if (error != cudaSuccess) {
        fprintf(stderr, "cannot hold the memory: %s\n", cudaGetErrorString(error));
        return 1;
    }
    pid_t child = !strcmp(how, "fork") ? fork() : -1;
    if (child != 0) {
        printf("%d\n", child > 0 ? child : getpid());
        fflush(stdout);
    }
    for (;;) pause();
}
