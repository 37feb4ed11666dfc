#include "engine/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace lwsvm {
namespace {

TEST(Threads, VisitEveryPieceOnceByAWorkerThatExists) {
  for (int count : {1, 2, 3})
    for (int pieces : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(pieces));
      std::atomic<int> strangers = 0;
      Threads(count).for_each(pieces, [&](int piece, int worker) {
        ++visits[static_cast<std::size_t>(piece)];
        if (worker < 0 || worker >= count) ++strangers;
      });
      for (const auto& seen : visits) EXPECT_EQ(seen, 1);
      EXPECT_EQ(strangers, 0);
    }
}

TEST(Threads, NeverRunOneWorkerTwiceAtATime) {
  const Threads threads(2);
  std::vector<std::atomic<int>> busy(2);
  std::atomic<int> clashes = 0;
  threads.for_each(200, [&](int, int worker) {
    if (busy[static_cast<std::size_t>(worker)]++ != 0) ++clashes;
    --busy[static_cast<std::size_t>(worker)];
  });
  EXPECT_EQ(clashes, 0);
}

TEST(Threads, CoverARangeWithoutGapOrOverlapInPiecesThatDoNotDependOnTheirNumber) {
  for (std::int64_t size : {0, 1, 9, 10, 11, 95}) {
    std::vector<std::vector<std::int64_t>> ends(2);
    for (int count : {1, 2}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(size));
      auto& end_of = ends[static_cast<std::size_t>(count - 1)];
      end_of.resize(static_cast<std::size_t>(size));
      Threads(count).for_ranges(size, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          ++visits[static_cast<std::size_t>(i)];
          end_of[static_cast<std::size_t>(i)] = end;
        }
      });
      for (const auto& seen : visits) EXPECT_EQ(seen, 1);
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

TEST(Threads, HandOnAnExceptionAndWorkOnAfterwards) {
  for (int count : {1, 2}) {
    const Threads threads(count);
    const auto throwing = [](int piece, int) {
      if (piece == 3) throw std::runtime_error("piece 3");
    };
    try {
      threads.for_each(8, throwing);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "piece 3");
    }
    std::atomic<int> visits = 0;
    threads.for_each(8, [&](int, int) { ++visits; });
    EXPECT_EQ(visits, 8);
  }
}

TEST(Threads, RethrowOneOfSeveralExceptions) {
  EXPECT_THROW(Threads(2).for_each(50, [](int, int) { throw std::logic_error("all"); }), std::logic_error);
}

TEST(Threads, TellOpenMPThatThereIsOneThreadInsideAndRestoreItOutside) {
  const int before = omp_get_max_threads();
  for (int count : {1, 2}) {
    std::atomic<int> wrong = 0;
    Threads(count).for_each(8, [&](int, int) { wrong += omp_get_max_threads() != 1; });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(omp_get_max_threads(), before);
    EXPECT_ANY_THROW(Threads(count).for_each(8, [](int, int) { throw 1; }));
    EXPECT_EQ(omp_get_max_threads(), before);
  }
}

TEST(SingleThreadScope, Nests) {
  omp_set_num_threads(2);
  {
    SingleThreadScope outer;
    {
      SingleThreadScope inner;
      EXPECT_EQ(omp_get_max_threads(), 1);
    }
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 2);
  omp_set_num_threads(hardware_threads());
}

TEST(Threads, AreAsManyAsCoresByDefault) {
  EXPECT_EQ(Threads().count(), hardware_threads());
  EXPECT_GE(hardware_threads(), 1);
}

// A product that IEEE would keep as a denormal number; not known to the compiler.
float denormal_product() {
  volatile float small = 1e-30f, factor = 1e-10f;
  return small * factor;
}

TEST(Threads, CountDenormalNumbersAsZeroOnEveryWorker) {
  for (int count : {1, 2, 5}) {
    const Threads threads(count);
    std::vector<float> products(64, -1.0f);
    threads.for_each(64,
                     [&](int piece, int) { products[static_cast<std::size_t>(piece)] = denormal_product(); });
    for (float product : products) EXPECT_EQ(product, 0.0f) << count << " threads";
  }
}

TEST(Threads, LeaveTheCallersArithmeticAlone) {
  const Threads threads(2);
  const float before = denormal_product();
  ASSERT_GT(before, 0.0f);
  threads.for_each(8, [](int, int) {});
  EXPECT_EQ(denormal_product(), before);
  EXPECT_THROW(threads.for_each(8, [](int, int) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(denormal_product(), before);
}

// Each worker has buffers of its own, and a nested loop must not use another's.
TEST(Threads, NestedLoopsKeepTheirWorker) {
  const Threads threads(3);
  std::atomic<int> others = 0;
  std::vector<std::atomic<int>> seen(3);
  threads.for_each(300, [&](int, int outer) {
    ++seen[static_cast<std::size_t>(outer)];
    threads.for_each(2, [&](int, int inner) {
      others += inner != outer;
      threads.for_each(1, [&](int, int innermost) { others += innermost != outer; });
    });
  });
  EXPECT_EQ(others, 0);
}

// In a process of its own, because the limit holds for the whole process. With stacks of 30 TB hardly a
// thread can be started.
TEST(ThreadsDeathTest, MakeDoWithFewer) {
  const auto with_huge_stacks = [] {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0 ||
        ::pthread_attr_setstacksize(&attributes, std::size_t{30} << 40) != 0 ||
        ::pthread_setattr_default_np(&attributes) != 0)
      std::exit(1);
    const Threads threads(16);
    std::atomic<int> visits = 0;
    threads.for_each(100, [&](int, int worker) { visits += worker < threads.count(); });
    std::exit(threads.count() >= 1 && threads.count() < 16 && visits == 100 ? 0 : 2);
  };
  EXPECT_EXIT(with_huge_stacks(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lwsvm
