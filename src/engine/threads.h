// Work shared among threads, with results that do not depend on how many there are.
//
// Everything parallel in this program is a loop over independent pieces (chunks of a batch, ranges of a
// vector) whose sizes do not depend on the number of threads; pieces are reduced in a fixed order afterwards.
//
// The threads are ours, not an OpenMP team: libgomp's wait by spinning, and on a machine that is busy with
// something else that was seen to make a solve 20 times slower (5.8 s against 0.25 s with
// OMP_WAIT_POLICY=passive, which a library cannot set for its caller). Ours spin for some microseconds, then
// sleep.
//
// oneDNN must never open a thread team of its own: a primitive made for two threads and run inside a parallel
// region gives wrong results without a word. So inside for_each, and wherever primitives are created, a
// SingleThreadScope tells its OpenMP runtime that there is one thread.
//
// Inside for_each, numbers below 1.2e-38 (denormal) are zero. Weights that nothing but the regulariser pulls
// at shrink until they get there, and each of them then costs a multiplication 100 cycles: from its tenth
// epoch on, Adam on MNIST took up to twice as long (docs/performance.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace lwsvm {

int hardware_threads();

class SingleThreadScope {
 public:
  SingleThreadScope();
  ~SingleThreadScope();
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  int before_;
};

// Of the calling thread, for as long as it lives: denormal operands count as zero, denormal results become
// it.
class FlushToZeroScope {
 public:
  FlushToZeroScope();
  ~FlushToZeroScope();
  FlushToZeroScope(const FlushToZeroScope&) = delete;
  FlushToZeroScope& operator=(const FlushToZeroScope&) = delete;

 private:
  unsigned before_;
};

// A handle: copies share their threads. One for_each at a time; called from inside another it runs on that
// thread, as that worker. A for_each of other Threads does not belong inside one: it would run as worker 0 on
// every thread.
class Threads {
 public:
  // 0: as many as there are cores. Where the system refuses to start so many, there are fewer: see count().
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&);
  Threads& operator=(const Threads&);

  int count() const;

  // body(piece, worker) for piece in 0..pieces-1, worker in 0..count-1. The first exception thrown is
  // rethrown here.
  void for_each(int pieces, const std::function<void(int piece, int worker)>& body) const;

  // body(begin, end) over fixed-size ranges of 0..size-1.
  void for_ranges(std::int64_t size, std::int64_t range,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace lwsvm
