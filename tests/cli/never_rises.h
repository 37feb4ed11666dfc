// What log.jsonl must say of a refine.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/run_log.h"

namespace lwsvm::cli {

// Every accepted update lowers F, every rejected one leaves it, and each begins where the last one ended.
inline void expect_never_rises(const std::filesystem::path& log, double start, int min_updates) {
  double objective = start;
  int updates = 0, accepted = 0;
  for (const auto& record : read_run_log(log).records) {
    if (record["type"] != "update") continue;
    ++updates;
    EXPECT_EQ(record["before"], objective) << record;
    if (record["accepted"]) {
      ++accepted;
      EXPECT_LT(record["objective"], record["before"]) << record;
    } else {
      EXPECT_EQ(record["objective"], record["before"]) << record;
    }
    objective = record["objective"];
  }
  EXPECT_GE(updates, min_updates);
  EXPECT_GT(accepted, 0);
}

}  // namespace lwsvm::cli
