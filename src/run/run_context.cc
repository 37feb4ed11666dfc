#include "run/run_context.h"

namespace lwsvm::run {

Threads start_threads(int wanted, Messages& messages) {
  const Threads threads(wanted);
  const int expected = wanted > 0 ? wanted : hardware_threads();
  if (threads.count() < expected)
    messages.warn(
        fmt::format("only {} of {} threads could be started (see ulimit -u); the result is the same",
                    threads.count(), expected));
  return threads;
}

}  // namespace lwsvm::run
