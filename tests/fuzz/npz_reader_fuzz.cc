// Archives of numpy. An input that does not begin like an archive is the arrays alone, which are put into one
// here: otherwise hardly anything that the fuzzer changes would get past the archive's checksums.
#include <array>

#include "data/made_files.h"
#include "data/npz.h"
#include "fuzz/data_set_check.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

using namespace lwsvm::test;

void read(std::string_view bytes) {
  if (bytes.starts_with("PK")) return check_data_set(load_npz(as_file(bytes)));
  constexpr std::array<const char*, 6> kNames = {"x_train.npy", "y_train.npy", "x_test.npy",
                                                 "y_test.npy",  "x_val.npy",   "y_val.npy"};
  std::vector<ZipMemberBytes> members;
  for (const std::string_view part : split(bytes))
    if (members.size() < kNames.size()) members.push_back({kNames[members.size()], std::string(part)});
  check_data_set(load_npz(as_file(zip(members, /*pack=*/false))));
}

std::vector<std::string> seeds() {
  const std::string bytes = npy("|u1", "(3, 2, 4)", std::string(24, '\5'));
  const std::string floats = npy("<f4", "(3, 1)", raw(std::vector<float>{0, 1, 2}));
  const std::string doubles = npy("<f8", "(3, 2, 1, 1)", raw(std::vector<double>{0, 1, 2, 3, 4, 5}));
  const std::string labels = npy("<i8", "(3,)", raw(std::vector<std::int64_t>{0, 2, 1}));
  const std::string column = npy("|u1", "(3, 1)", std::string("\0\1\1", 3));
  const std::vector<ZipMemberBytes> set = {{"x_train.npy", bytes}, {"y_train.npy", labels}};
  return {zip(set, false),
          zip(set, true),
          joined({bytes, labels}),
          joined({floats, column}),
          joined({doubles, labels, doubles, column}),
          joined({bytes, column, bytes, labels, bytes, labels})};
}

}  // namespace lwsvm::fuzz
