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

Table awkward() {
  Table table({"solver", "100% of"});
  table.add({"a_b | \"c\", {d}", "1.5"});
  table.add_rule();
  table.add({"\\~^#&$", "-"});
  return table;
}

TEST(Table, MarkdownCellsCannotEndTheirCell) {
  EXPECT_EQ(awkward().markdown(),
            "| solver | 100% of |\n"
            "|---|---:|\n"
            "| a\\_b \\| \"c\", {d} | 1.5 |\n"
            "| \\\\~^#&$ | - |\n");
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(awkward().csv(),
            "solver,100% of\r\n"
            "\"a_b | \"\"c\"\", {d}\",1.5\r\n"
            "\\~^#&$,-\r\n");
}

TEST(Table, LatexEscapesEverySpecialCharacter) {
  EXPECT_EQ(awkward().latex("50% of {it}"),
            "\\begin{table}\n"
            "\\caption{50\\% of \\{it\\}}\n"
            "\\centering\n"
            "\\begin{tabular}{lr}\n"
            "solver & 100\\% of \\\\\n"
            "\\hline\n"
            "a\\_b | \"c\", \\{d\\} & 1.5 \\\\\n"
            "\\hline\n"
            "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\#\\&\\$ & - \\\\\n"
            "\\hline\n"
            "\\end{tabular}\n"
            "\\end{table}\n");
}

TEST(Table, KnowsNumbers) {
  for (const char* text : {"12", "-0.5", "1,234", "98.7%", "1.2e-05", "3.4x", "-", "+1", "8.3s", "1.2 GiB",
                           "nan", "707+366", "0.83+0.68", "1e+05"}) {
    EXPECT_TRUE(looks_numeric(text)) << text;
  }
  for (const char* text : {"", "fc1", "12x12", "1x28x28", "%", "conv", "--", "1 2", "1+", "1+x"}) {
    EXPECT_FALSE(looks_numeric(text)) << text;
  }
}

}  // namespace
}  // namespace lwsvm
