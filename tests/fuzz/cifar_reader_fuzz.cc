// Folders of CIFAR's binary files. The first byte says which of the two kinds; parts are the files.
#include "data/cifar.h"

#include <array>

#include "data/made_files.h"
#include "fuzz/data_set_check.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

using namespace lwsvm::test;

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool ten = bytes[0] == 'a';
  const std::array<const char*, 3> names = {ten ? "data_batch_1.bin" : "train.bin",
                                            ten ? "test_batch.bin" : "test.bin", "data_batch_2.bin"};
  Files files;
  for (const std::string_view part : split(bytes.substr(1)))
    if (files.size() < names.size()) files.emplace_back(names[files.size()], part);
  check_data_set(load_cifar_folder(as_folder(files), ten ? CifarKind::cifar10 : CifarKind::cifar100));
}

std::vector<std::string> seeds() {
  return {"a" + cifar_records(0, {3}, false),
          "a" + joined({cifar_records(0, {9, 0}, false), cifar_records(2, {1}, false)}),
          "a" + joined({cifar_records(0, {9}, false), cifar_records(2, {1}, false),
                        cifar_records(3, {2}, false)}),
          "b" + joined({cifar_records(0, {99}, true), cifar_records(1, {0}, true)}),
          "a" + gzipped(cifar_records(0, {4}, false))};
}

}  // namespace lwsvm::fuzz
