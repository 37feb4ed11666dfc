#include "report/page.h"

#include <map>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/version.h"
#include "report/csv.h"

namespace lwsvm {

// Made by cmake/embed.cmake.
extern const std::string_view kReportHtml, kReportCss, kCommonJs, kReportJs, kMarksJs, kCurvesJs, kUpdatesJs,
    kRanksJs, kGalleryJs, kUplotJs, kUplotCss, kUplotLicense;

namespace {

using nlohmann::ordered_json;

std::string escaped_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// JSON inside <script>: only "<" could end that element, and in JSON it can only stand within a string.
std::string script_json(const ordered_json& value) {
  std::string result;
  for (const char c : value.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

ordered_json run_data(const RunHistory& run) {
  return {{"name", run.name()},       {"folder", run.folder},
          {"records", run.records},   {"csv", to_csv(run.records)},
          {"seconds", run.seconds()}, {"parent", run.parent},
          {"shorter", run.shorter},   {"shared_epochs", run.shared_epochs},
          {"shift", run.shift}};
}

ordered_json page_data(const ReportInput& input) {
  ordered_json data{
      {"title", input.title},       {"version", version_line()},     {"table", nullptr},
      {"warnings", input.warnings}, {"runs", ordered_json::array()}, {"galleries", input.galleries}};
  if (input.table)
    data["table"] = {{"title", input.table->title},
                     {"caption", input.table->caption},
                     {"headings", input.table->headings},
                     {"rows", input.table->rows},
                     {"beside", input.table->beside}};
  for (const RunHistory& run : input.runs) data["runs"].push_back(run_data(run));
  return data;
}

// Replaces every @NAME@ of the template, in one go: what is filled in is not searched again.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
  std::string result;
  while (!page.empty()) {
    const std::size_t begin = page.find('@');
    const std::size_t end = begin == std::string_view::npos ? begin : page.find('@', begin + 1);
    if (end == std::string_view::npos) break;
    const auto value = values.find(page.substr(begin + 1, end - begin - 1));
    if (value == values.end()) {
      result += page.substr(0, end);  // the second @ may begin a name
      page.remove_prefix(end);
      continue;
    }
    result += page.substr(0, begin);
    result += value->second;
    page.remove_prefix(end + 1);
  }
  return result += page;
}

}  // namespace

bool has_report() {
  return true;
}

std::string report_page(const ReportInput& input) {
  std::string scripts;
  for (const std::string_view script :
       {kCommonJs, kReportJs, kMarksJs, kCurvesJs, kUpdatesJs, kRanksJs, kGalleryJs})
    scripts += script;
  return filled(kReportHtml, {{"TITLE", escaped_html(input.title)},
                              {"LICENSE", std::string(kUplotLicense)},
                              {"STYLE", std::string(kUplotCss) + std::string(kReportCss)},
                              {"UPLOT", std::string(kUplotJs)},
                              {"DATA", script_json(page_data(input))},
                              {"SCRIPT", scripts}});
}

void write_report(const ReportInput& input, const std::filesystem::path& path) {
  write_file_atomically(path, report_page(input));
}

}  // namespace lwsvm
