#include "engine/threads.h"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace lwsvm {

int hardware_threads() {
  return std::max(1, omp_get_num_procs());
}

SingleThreadScope::SingleThreadScope() : before_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}
SingleThreadScope::~SingleThreadScope() {
  omp_set_num_threads(before_);
}

Threads::Threads(int count) : count_(count > 0 ? count : hardware_threads()) {}

void Threads::for_each(int pieces, const std::function<void(int, int)>& body) const {
  const int team = std::min(count_, pieces);
  if (team <= 1) {
    SingleThreadScope single;
    for (int piece = 0; piece < pieces; ++piece) body(piece, 0);
    return;
  }
  std::exception_ptr failure = nullptr;
#pragma omp parallel num_threads(team)
  {
    SingleThreadScope single;
#pragma omp for schedule(dynamic, 1)
    for (int piece = 0; piece < pieces; ++piece) {
      try {
        body(piece, omp_get_thread_num());
      } catch (...) {
#pragma omp critical(lwsvm_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void Threads::for_ranges(std::int64_t size, std::int64_t range,
                         const std::function<void(std::int64_t, std::int64_t)>& body) const {
  const int pieces = static_cast<int>((size + range - 1) / range);
  for_each(pieces, [&](int piece, int) { body(piece * range, std::min(size, (piece + 1) * range)); });
}

}  // namespace lwsvm
