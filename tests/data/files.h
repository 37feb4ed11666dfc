// What the data tests share: files written byte by byte, and errors looked at.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"
#include "temporary_folder.h"

namespace lwsvm::test {

using lwsvm::TemporaryFolder;

inline void write_bytes(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  ASSERT_TRUE(file.good());
}

inline std::vector<float> sample(const Samples& samples, std::size_t index) {
  std::vector<float> values(samples.sample_size());
  samples.read(index, values.data());
  return values;
}

// The message of the Error that `action` throws; a failure of the test if it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

// Writes the first k bytes of `content` for every k below its length and expects an Error that names the
// file.
template <typename Load>
void expect_truncation_is_rejected(const std::filesystem::path& file, const std::string& content,
                                   Load&& load) {
  for (std::size_t length = 0; length < content.size(); ++length) {
    SCOPED_TRACE(length);
    write_bytes(file, content.substr(0, length));
    EXPECT_THAT(error_of(load), ::testing::HasSubstr(file.filename().string()));
  }
  write_bytes(file, content);
  EXPECT_NO_THROW(load());
}

}  // namespace lwsvm::test
