#include <cstdlib>

#include "base/error.h"
#include "mpi/ranks.h"

namespace lwsvm {

Team& join_ranks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(variable); size && std::atoi(size) > 1)
      fail("mpi",
           "this lwsvm was built without MPI: each of the {} ranks would do all of the work. Install "
           "libopenmpi-dev and "
           "build again, or leave out mpirun",
           size);
  return alone();
}

int threads_per_rank() {
  return 0;
}

void leave_ranks() {}

Trouble share_trouble(const std::string& message) {
  return {{{"", message}}, true, true};
}

void end_all_ranks(int exit_code) {
  std::exit(exit_code);
}

}  // namespace lwsvm
