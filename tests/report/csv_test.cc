#include "report/csv.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lwsvm {
namespace {

using nlohmann::ordered_json;

TEST(Csv, ColumnsAreAllKeysInTheOrderOfTheirFirstAppearance) {
  const std::string csv = to_csv({{{"type", "run"}, {"seed", 1}},
                                  {{"type", "epoch"}, {"objective", 0.25}, {"seed", nullptr}},
                                  {{"accepted", true}, {"type", "update"}}});
  EXPECT_EQ(csv,
            "type,seed,objective,accepted\r\n"
            "run,1,,\r\n"
            "epoch,,0.25,\r\n"
            "update,,,true\r\n");
}

TEST(Csv, QuotesWhatMustBe) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell("gap closed, r = 1.00"), "\"gap closed, r = 1.00\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_cell(""), "");
}

// A plain reader of RFC 4180 gets back what went in.
TEST(Csv, IsReadBackAsItWas) {
  const std::vector<std::string> values{"", ",", "\"", "\"\"", "a\r\nb", ",\",\n", "größe", "<b>"};
  ordered_json record;
  for (std::size_t i = 0; i < values.size(); ++i) record["key, " + std::to_string(i)] = values[i];
  const std::string csv = to_csv({record});
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      rows.back().back() += csv[i++];
    } else if (csv[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && csv[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && csv[i] == '\n') {
      rows.push_back({""});
    } else if (quoted || csv[i] != '\r') {
      rows.back().back() += csv[i];
    }
  }
  ASSERT_EQ(rows.size(), 3U);  // the last one is empty: every line ends
  EXPECT_EQ(rows[1], values);
  EXPECT_EQ(rows[0][3], "key, 3");
}

TEST(Csv, SettingsAreJsonInOneCell) {
  const ordered_json settings{{"arch", "mnist"}, {"lambda", 0.001}};
  EXPECT_EQ(to_csv({{{"settings", settings}}}),
            "settings\r\n\"{\"\"arch\"\":\"\"mnist\"\",\"\"lambda\"\":0.001}\"\r\n");
}

TEST(Csv, OfNothingIsEmpty) {
  EXPECT_EQ(to_csv({}), "");
}

}  // namespace
}  // namespace lwsvm
