#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/image_url.h"

namespace lwsvm {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMarkup = "</script><img src=x onerror=alert(1)>&\"'";

// The JSON inside the page, as a browser finds it: up to the first end of a script.
ordered_json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return ordered_json::parse(page.substr(from, page.find("</script", from) - from));
}

RunHistory run_with_markup() {
  RunHistory run;
  run.folder = kMarkup;
  run.records.push_back({{"type", "run"}, {"settings", {{"data", kMarkup}}}});
  run.records.push_back({{"type", "update"}, {"layer", kMarkup}, {"reason", kMarkup}});
  return run;
}

TEST(ReportPage, DataIsNeverMarkup) {
  ReportInput input;
  input.title = kMarkup;
  input.table = ReportTable{kMarkup, kMarkup, {kMarkup}, {{kMarkup}}, {}};
  input.runs = {run_with_markup()};
  input.warnings = {kMarkup};
  input.galleries.push_back({{"run", 0}, {"note", kMarkup}});
  const std::string page = report_page(input);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr(kMarkup)));
  const ordered_json data = data_of(page);
  EXPECT_EQ(data["title"], kMarkup);
  EXPECT_EQ(data["runs"][0]["records"][1]["layer"], kMarkup);
  EXPECT_EQ(data["table"]["rows"][0][0], kMarkup);
  EXPECT_EQ(data["galleries"][0]["note"], kMarkup);
}

TEST(ReportPage, NamesThatLookLikePlaceholdersStay) {
  ReportInput input;
  input.title = "@DATA@ @STYLE@";
  const std::string page = report_page(input);
  EXPECT_THAT(page, HasSubstr("<title>@DATA@ @STYLE@</title>"));
  EXPECT_EQ(data_of(page)["title"], input.title);
}

TEST(ReportPage, NamesThatAreNotUtf8DoNotBreakIt) {
  ReportInput input;
  input.runs = {run_with_markup()};
  input.runs[0].folder = "caf\xe9";
  EXPECT_EQ(data_of(report_page(input))["runs"][0]["folder"], "caf\xef\xbf\xbd");
}

TEST(ReportPage, CarriesEverythingItselfAndTheLicenceOfWhatItUses) {
  const std::string page = report_page({});
  EXPECT_THAT(page, HasSubstr("The MIT License"));
  EXPECT_THAT(page, HasSubstr("Leon Sorokin"));
  for (const char* reference : {"<link", "src=\"http", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  EXPECT_THAT(page, Not(testing::ContainsRegex("@[A-Z]+@"))) << "a placeholder is left";
}

TEST(ImageUrl, Base64IsThatOfTheStandard) {
  const auto encoded = [](const std::string& text) {
    return to_base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe\xfd"), "//79");
}

TEST(ImageUrl, IsAPng) {
  const std::vector<std::uint8_t> pixels(4 * 3 * 3, 200);
  EXPECT_THAT(image_url(pixels, 4, 3, 3), testing::StartsWith("data:image/png;base64,iVBORw0KGgo"));
  EXPECT_NE(image_url(pixels, 4, 3, 3), image_url(std::span(pixels).first(12), 4, 3, 1));
}

}  // namespace
}  // namespace lwsvm
