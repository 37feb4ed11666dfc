#include "report/table.h"

#include <gtest/gtest.h>

namespace lwsvm {
namespace {

TEST(Table, AlignsNumbersRightAndWordsLeft) {
  Table table({"layer", "kind", "parameters", "share"});
  table.add({"conv1", "Conv", "312", "0.7%"});
  table.add({"größe", "Gemm", "49,408", "98.0%"});
  table.add_rule();
  table.add({"total", "", "49,720"});
  EXPECT_EQ(table.str(),
            "layer  kind  parameters  share\n"
            "-----  ----  ----------  -----\n"
            "conv1  Conv         312   0.7%\n"
            "größe  Gemm      49,408  98.0%\n"
            "-----  ----  ----------  -----\n"
            "total            49,720\n");
}

TEST(Table, ForeignNamesCannotBreakIt) {
  Table table({"name"});
  table.add({"a\nb\x1b[2J\tc"});
  EXPECT_EQ(table.str(), "name\n---------\na b?[2J c\n");
}

TEST(Table, WithoutRowsIsItsHeading) {
  EXPECT_EQ(Table({"a", "bb"}).str(), "a  bb\n-  --\n");
}

TEST(Table, KnowsNumbers) {
  for (const char* text :
       {"12", "-0.5", "1,234", "98.7%", "1.2e-05", "3.4x", "-", "+1", "8.3s", "1.2 GiB", "nan"}) {
    EXPECT_TRUE(looks_numeric(text)) << text;
  }
  for (const char* text : {"", "fc1", "12x12", "1x28x28", "%", "conv", "--", "1 2"}) {
    EXPECT_FALSE(looks_numeric(text)) << text;
  }
}

}  // namespace
}  // namespace lwsvm
