// Logs of runs, as far as the report goes with them: read, linked to another run, as CSV and as a page. The
// second part, if there is one, is the other run's log.
#include "report/run_log.h"

#include "base/error.h"
#include "fuzz/reader_fuzz.h"
#include "report/csv.h"
#include "report/page.h"
#include "report/run_history.h"

namespace lwsvm::fuzz {

void read(std::string_view bytes) {
  Files files;
  for (const std::string_view part : split(bytes))
    if (files.size() < 2) files.emplace_back(files.empty() ? "a" : "b", part);
  const std::filesystem::path folder = as_folder(files);
  ReportInput input;
  for (const auto& [name, part] : files) input.runs.push_back(read_history(folder / name));
  link_runs(input.runs);
  for (const RunHistory& run : input.runs) to_csv(run.records);
  LWSVM_CHECK(!report_page(input).empty());
  read_run_log(folder / "a", BrokenLines::refuse);
}

std::vector<std::string> seeds() {
  const std::string train =
      R"({"type":"run","command":"train","settings":{"output":"a.onnx","data":"x","epochs":2},"seconds":0}
{"type":"epoch","epoch":1,"seconds":1.5,"objective":0.5,"val_accuracy":0.9}
{"type":"epoch","epoch":2,"seconds":2.5,"objective":0.25,"val_accuracy":null}
{"type":"end","seconds":3}
)";
  const std::string refine =
      R"({"type":"run","command":"refine","settings":{"output":"b.onnx"},"start":{"objective":0.25}}
{"type":"update","pass":1,"layer":"fc1","accepted":true,"objective":0.2,"seconds":1}
{"type":"resume","settings":{"output":"b.onnx"}}
{"type":"ep)";
  return {train,
          refine,
          joined({train, refine}),
          joined({train, train}),
          "{}\n[1]\nx\n",
          "{\"type\":\"run\",\"deep\":" + std::string(90, '[') + std::string(90, ']') + "}\n"};
}

}  // namespace lwsvm::fuzz
