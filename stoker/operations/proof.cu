// Compiled, linked and, where there is a GPU, run: what SGLang's own kernels need at run time.
#include <cub/version.cuh>
#include <cuda_runtime.h>
#include <cstdio>

__global__ void twice(int *value) { *value *= 2; }

extern "C" int main()
{
    int result = 21, *value = nullptr;
    cudaError_t error = cudaMalloc(&value, sizeof result);
    if (!error) error = cudaMemcpy(value, &result, sizeof result, cudaMemcpyHostToDevice);
    if (!error) twice<<<1, 1>>>(value);
    if (!error) error = cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost);
    if (error == cudaErrorMemoryAllocation) return 75; // a server has the GPU's memory; try later
    if (error) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error || result != 42;
}
