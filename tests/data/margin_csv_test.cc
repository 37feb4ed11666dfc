#include "data/margin_csv.h"

#include "data/files.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

TEST(MarginCsv, AllSeparatorsGiveTheSameMatrix) {
  TemporaryFolder folder;
  const std::vector<float> expected{0, 1, 2.5f, 3, 0, 1, 1e-2f, 4, 0};
  for (const char* text :
       {"0,1,2.5\n3,0,1\n0.01,4,0\n", "0;1;2.5\r\n3;0;1\r\n1e-2;4;0", "0 1 2.5\n\n 3\t0  1 \n0.01 4 0\n\n",
        "\xEF\xBB\xBF"
        "0 , 1 , 2.5\n3 ,0, 1\n.01,4,0"}) {
    SCOPED_TRACE(text);
    write_bytes(folder / "delta.csv", text);
    EXPECT_EQ(read_margin_matrix(folder / "delta.csv", 3), expected);
  }
}

TEST(MarginCsv, BadMatricesAreRejectedByFile) {
  TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "0 rows"},
      {"cat,dog\n0,1\n1,0\n", "header"},
      {"0,1\n", "1 rows"},
      {"0,1\n1,0\n1,1\n", "more than 2 rows"},
      {"0,1,2\n1,0,2\n", "3 numbers"},
      {"0,1\n1\n", "line 2: 1 numbers"},
      {"0,1,\n1,0\n", "missing"},
      {",1\n1,0\n", "missing"},
      {"0,-1\n1,0\n", "not negative"},
      {"0,nan\n1,0\n", "finite"},
      {"0,inf\n1,0\n", "finite"},
      {"0,1e99\n1,0\n", "not a number"},
      {"0,1\n1,0.5\n", "diagonal"},
      {"0,1x\n1,0\n", "1x"},
      {std::string(100000, '0'), "too large"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(expected);
    write_bytes(folder / "delta.csv", text);
    EXPECT_THAT(error_of([&] { read_margin_matrix(folder / "delta.csv", 2); }),
                AllOf(HasSubstr("delta.csv"), HasSubstr(expected)));
  }
  EXPECT_THAT(error_of([&] { read_margin_matrix(folder / "none.csv", 2); }), HasSubstr("none.csv"));
}

}  // namespace
}  // namespace lwsvm
