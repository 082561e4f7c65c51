// Loads of one warp, as a list says: for every step, and each of its 32 lanes, the byte that it reads from, or -1.
// gpu_sectors.py writes the lists, and reads the counters of what this does. Two launches for each list: one that only
// reads the addresses, and one that also loads what lies there, so that the difference is the loads alone.
//
//     nvcc -O2 -o sectors gpu_sectors.cu && ./sectors lists.bin

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));               \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

__device__ uint32_t folded(uint8_t v) { return v; }
__device__ uint32_t folded(uint16_t v) { return v; }
__device__ uint32_t folded(uint32_t v) { return v; }
__device__ uint32_t folded(uint2 v) { return v.x ^ v.y; }
__device__ uint32_t folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

template <typename Element>
__global__ void walk(const int *addresses, int steps, const char *memory, int load, uint32_t *out) {
    uint32_t sum = 0;
    for (int step = 0; step < steps; step++) {
        int address = addresses[step * 32 + threadIdx.x];
        if (load && address >= 0) sum ^= folded(*reinterpret_cast<const Element *>(memory + address));
        sum += address;
    }
    out[threadIdx.x] = sum;
}

static void launch(int bytes, const int *addresses, int steps, const char *memory, int load, uint32_t *out) {
    switch (bytes) {
    case 1: walk<uint8_t><<<1, 32>>>(addresses, steps, memory, load, out); break;
    case 2: walk<uint16_t><<<1, 32>>>(addresses, steps, memory, load, out); break;
    case 4: walk<uint32_t><<<1, 32>>>(addresses, steps, memory, load, out); break;
    case 8: walk<uint2><<<1, 32>>>(addresses, steps, memory, load, out); break;
    case 16: walk<uint4><<<1, 32>>>(addresses, steps, memory, load, out); break;
    default: fprintf(stderr, "found elements of %d bytes, expected 1, 2, 4, 8 or 16\n", bytes); exit(1);
    }
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : nullptr;
    if (!file) { fprintf(stderr, "expected a file of lists\n"); return 1; }
    char *memory;
    uint32_t *out;
    const size_t room = 64 << 20;
    CHECK(cudaMalloc(&memory, room));
    CHECK(cudaMemset(memory, 1, room));
    CHECK(cudaMalloc(&out, 32 * sizeof(uint32_t)));
    int32_t head[2];  // bytes of an element, steps
    while (fread(head, sizeof head, 1, file) == 1) {
        std::vector<int> addresses(32 * static_cast<size_t>(head[1]));
        if (fread(addresses.data(), sizeof(int), addresses.size(), file) != addresses.size()) return 1;
        int *on_device;
        CHECK(cudaMalloc(&on_device, addresses.size() * sizeof(int)));
        CHECK(cudaMemcpy(on_device, addresses.data(), addresses.size() * sizeof(int), cudaMemcpyHostToDevice));
        for (int load = 0; load < 2; load++) launch(head[0], on_device, head[1], memory, load, out);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(on_device));
    }
    return 0;
}
