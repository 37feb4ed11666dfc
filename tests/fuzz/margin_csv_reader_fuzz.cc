// The margin matrix of --delta. The first byte says how many classes there are.
#include "base/margin_matrix.h"
#include "data/margin_csv.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  const int classes = 2 + (bytes[0] & 7);
  const std::vector<float> values = read_margin_matrix(as_file(bytes.substr(1)), classes);
  // What the reader lets through, the matrix takes.
  try {
    MarginMatrix(classes, values);
  } catch (const Error& error) {
    check_failed(error.what(), __FILE__, __LINE__);
  }
}

std::vector<std::string> seeds() {
  return {std::string(1, '\0') + "0,1\n1,0\n",
          "\1"
          "0;1;2.5\r\n\r\n3;0;1e-3\r\n1;1;0\r\n",
          std::string(1, '\0') +
              "\xEF\xBB\xBF"
              "0 \t1\n 7 , 0"};
}

}  // namespace lwsvm::fuzz
