// A step of training on four GPUs of one process: gradients are summed by NCCL.
#include <cuda_runtime.h>
#include <nccl.h>

#define GPUS 4

__global__ void scale(float *values, float factor, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) values[at] *= factor;
}

// ncclSend(gradients, count, ncclFloat, 3, comm, stream) would be a chain; it is not called.
void step(float **gradients, int count, ncclComm_t *comms, cudaStream_t *streams) {
  ncclGroupStart();
  for (int gpu = 0; gpu < GPUS; gpu++) {
    ncclAllReduce(gradients[gpu], gradients[gpu], count, ncclFloat, ncclSum, comms[gpu],
                  streams[gpu]);
  }
  ncclGroupEnd();
  for (int gpu = 0; gpu < GPUS; gpu++) {
    cudaSetDevice(gpu);
    scale<<<(count + 255) / 256, 256, 0, streams[gpu]>>>(gradients[gpu], 1.0f / GPUS, count);
  }
}

int main() {
  ncclComm_t comms[GPUS];
  int devices[GPUS] = {0, 1, 2, 3};
  ncclCommInitAll(comms, GPUS, devices);
  const char *text = "cudaMemcpyPeer(a, 0, b, 2, 4)";
  return text == nullptr;
}
