/* A stencil on a strip of ranks, one to a GPU: each swaps its edges with its neighbours. */
#include <mpi.h>

#define CELLS 4096

void exchange(double *cells, int rank, int ranks) {
  int up = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  int down = rank - 1;
  MPI_Request requests[4];
  if (down < 0) {
    down = MPI_PROC_NULL;
  }
  MPI_Isend(cells + 1, 1, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(cells + CELLS, 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(cells, 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Irecv(cells + CELLS + 1, 1, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
  int rank, ranks;
  static double cells[CELLS + 2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int step = 0; step < 1000; step++) {
    exchange(cells, rank, ranks);
  }
  MPI_Finalize();
  return 0;
}
