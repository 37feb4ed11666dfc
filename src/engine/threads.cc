#include "engine/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/signal_stack.h"

namespace lwsvm {
namespace {

constexpr int kSpinsBeforeSleep = 2000;  // some ten microseconds: about what waking a thread costs

// Which for_each this thread is inside of, if any: of which pool, and as which of its workers.
struct Inside {
  const void* pool = nullptr;
  int worker = 0;
};
thread_local Inside inside;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

int hardware_threads() {
  return std::max(1, omp_get_num_procs());
}

SingleThreadScope::SingleThreadScope() : before_(omp_get_max_threads()) {
  use_signal_stack();
  omp_set_num_threads(1);
}
SingleThreadScope::~SingleThreadScope() {
  omp_set_num_threads(before_);
}

#if defined(__x86_64__)
FlushToZeroScope::FlushToZeroScope() : before_(_mm_getcsr()) {
  constexpr unsigned denormals_are_zero = 0x0040;
  _mm_setcsr(before_ | _MM_FLUSH_ZERO_ON | denormals_are_zero);
}
FlushToZeroScope::~FlushToZeroScope() {
  _mm_setcsr(before_);
}
#else
FlushToZeroScope::FlushToZeroScope() : before_(0) {}
FlushToZeroScope::~FlushToZeroScope() = default;
#endif

class Threads::Pool {
 public:
  // Makes do with fewer threads where the system grants no more: results do not depend on their number.
  explicit Pool(int count) : count_(1) {
    threads_.reserve(static_cast<std::size_t>(count - 1));
    try {
      for (int worker = 1; worker < count; ++worker) {
        threads_.emplace_back([this, worker] { serve(worker); });
        ++count_;
      }
    } catch (const std::exception&) {  // count() says how many there are
    }
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int count() const { return count_; }

  void run(int pieces, const std::function<void(int, int)>& body) {
    const std::lock_guard one_at_a_time(busy_);
    body_ = &body;
    pieces_ = pieces;
    next_ = 0;
    failure_ = nullptr;
    working_.store(count_ - 1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    work(0);
    for (int spin = 0; working_.load(std::memory_order_acquire) > 0; ++spin) {
      relax();
      if (spin > kSpinsBeforeSleep) {
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [this] { return working_.load(std::memory_order_acquire) == 0; });
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void serve(int worker) {
    block_signals();
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpinsBeforeSleep && generation_.load(std::memory_order_acquire) == seen;
           ++spin)
        relax();
      if (generation_.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return closing_ || generation_.load(std::memory_order_acquire) != seen; });
        if (generation_.load(std::memory_order_acquire) == seen) return;  // closing
      }
      seen = generation_.load(std::memory_order_acquire);
      work(worker);
      if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        { const std::lock_guard lock(mutex_); }
        finished_.notify_one();
      }
    }
  }

  void work(int worker) {
    const SingleThreadScope single;
    const FlushToZeroScope flush;
    inside = {this, worker};
    for (int piece = next_.fetch_add(1); piece < pieces_; piece = next_.fetch_add(1)) {
      try {
        (*body_)(piece, worker);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    }
    inside = {};
  }

  int count_;
  std::vector<std::thread> threads_;
  std::mutex busy_, mutex_;
  std::condition_variable wake_, finished_;
  bool closing_ = false;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> working_{0}, next_{0};
  int pieces_ = 0;
  const std::function<void(int, int)>* body_ = nullptr;
  std::exception_ptr failure_;
};

Threads::Threads(int count) : pool_(std::make_shared<Pool>(count > 0 ? count : hardware_threads())) {}
Threads::~Threads() = default;
Threads::Threads(const Threads&) = default;
Threads& Threads::operator=(const Threads&) = default;

int Threads::count() const {
  return pool_->count();
}

void Threads::for_each(int pieces, const std::function<void(int, int)>& body) const {
  if (pieces <= 1 || pool_->count() == 1 || inside.pool) {
    const SingleThreadScope single;
    const FlushToZeroScope flush;
    // Inside a for_each of the same pool other workers may be here too, each with buffers of its own.
    const int worker = inside.pool == pool_.get() ? inside.worker : 0;
    for (int piece = 0; piece < pieces; ++piece) body(piece, worker);
    return;
  }
  pool_->run(pieces, body);
}

void Threads::for_ranges(std::int64_t size, std::int64_t range,
                         const std::function<void(std::int64_t, std::int64_t)>& body) const {
  const int pieces = static_cast<int>((size + range - 1) / range);
  for_each(pieces, [&](int piece, int) { body(piece * range, std::min(size, (piece + 1) * range)); });
}

}  // namespace lwsvm
