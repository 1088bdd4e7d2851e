// Who asks is known when it runs: the rank that a task names.
#include <mpi.h>

struct Task {
  int owner;
};

void answer(const Task &task, float *values, int count) {
  MPI_Send(values, count, MPI_FLOAT, task.owner, 0, MPI_COMM_WORLD);
}
