// LIBSVM's text: a training file and, as a second part, a test file.
#include <sstream>

#include "base/error.h"
#include "data/libsvm_file.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {
namespace {

LibsvmData checked(std::string_view text, const LibsvmData* train) {
  std::istringstream stream{std::string(text)};
  LibsvmData data =
      train ? read_libsvm(stream, "test", &train->class_names, train->width) : read_libsvm(stream, "train");
  LWSVM_CHECK(data.rows() == data.samples() && data.row_begin.back() == data.entries());
  LWSVM_CHECK(!train || data.width <= train->width);
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    const std::int32_t label = data.labels[static_cast<std::size_t>(row)];
    LWSVM_CHECK(label >= 0 && label < data.classes());
    std::int32_t before = -1;
    for (const std::int32_t column : data.row_columns(row)) {
      LWSVM_CHECK(column > before && column < data.width);
      before = column;
    }
  }
  return data;
}

}  // namespace

void read(std::string_view bytes) {
  const auto parts = split(bytes);
  const LibsvmData train = checked(parts[0], nullptr);
  const auto used = train.used_columns();
  const SparseRows narrow = train.with_columns(used);
  LWSVM_CHECK(narrow.entries() == train.entries());
  if (parts.size() > 1) checked(parts[1], &train);
}

std::vector<std::string> seeds() {
  const std::string train = "0 1:1 3:-2.5e-3\n2 2:.5\n-1 # no features\n", test = "2 1:1e10\r\n\n+0 3:7\n";
  return {train, joined({train, test}), "3.0 2147483647:1\n1 1:+2\n"};
}

}  // namespace lwsvm::fuzz
