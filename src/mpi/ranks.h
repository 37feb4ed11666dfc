// The processes that mpirun has started together with this one, as a Team (base/team.h). This folder is the
// only place that knows of MPI: mpi.cc where the build has found it, otherwise no_mpi.cc.
#pragma once

#include <string>
#include <vector>

#include "base/team.h"

namespace lwsvm {

// Alone where mpirun has not started this process, or only this one; then MPI is not even begun. Throws Error
// where there are several ranks and this build knows nothing of MPI.
Team& join_ranks();
// How many threads each rank should use by default, so that those of one machine share its cores; 0 where
// this rank is alone.
int threads_per_rank();

// When all ranks are done, before the process ends.
void leave_ranks();
// What ranks that cannot go on say of themselves.
struct Trouble {
  struct Rank {
    std::string name, message;
  };
  std::vector<Rank> ranks;   // those that have told so within two seconds, this one among them, in rank order
  bool of_all = false;       // there is nobody else
  bool ours_to_tell = true;  // this rank is the first of them; otherwise another says it all
};
Trouble share_trouble(const std::string& message);
// Then ends the process and all others within moments.
[[noreturn]] void end_all_ranks(int exit_code);

}  // namespace lwsvm
