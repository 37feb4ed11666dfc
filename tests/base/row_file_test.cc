// What is read at any place of a file is what lies there, for several readers at once; what is not there is
// an Error.
#include "base/row_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

std::string numbers(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.push_back(static_cast<char>(i * 31 % 251));
  return text;
}

TEST(RowFile, ThreadsReadWhatLiesThere) {
  const TemporaryFolder folder;
  const std::string whole = numbers(100000);
  std::ofstream(folder / "rows", std::ios::binary) << whole;
  const RowFile file(folder / "rows");
  EXPECT_EQ(file.size(), whole.size());
  std::vector<std::thread> readers;
  std::vector<int> wrong(4);
  for (std::size_t k = 0; k < wrong.size(); ++k)
    readers.emplace_back([&, k] {
      std::string row(997, ' ');
      for (std::size_t at = k * 13; at + row.size() <= whole.size(); at += 1009) {
        file.expect(at, row.size());
        file.read(at, row.data(), row.size());
        wrong[k] += row != whole.substr(at, row.size());
      }
    });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0, 0}));
}

TEST(RowFile, WhatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(RowFile(folder / "nothing"), Error);
  EXPECT_THROW(RowFile(folder.path()), Error);
  std::ofstream(folder / "rows", std::ios::binary) << numbers(1000);
  const RowFile file(folder / "rows");
  char row[20];
  EXPECT_NO_THROW(file.read(980, row, 20));
  EXPECT_THROW(file.read(981, row, 20), Error);
  std::filesystem::resize_file(folder / "rows", 500);
  EXPECT_THROW(file.read(980, row, 20), Error);
}

}  // namespace
}  // namespace lwsvm
