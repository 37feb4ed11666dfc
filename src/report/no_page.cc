// In place of page.cc where the program is built without the report (LWSVM_REPORT=OFF).
#include "base/error.h"
#include "report/page.h"

namespace lwsvm {

bool has_report() {
  return false;
}

std::string report_page(const ReportInput& /*input*/) {
  fail("report", "this lwsvm was built without the report; build it with -DLWSVM_REPORT=ON");
}

void write_report(const ReportInput& input, const std::filesystem::path& /*path*/) {
  report_page(input);
}

}  // namespace lwsvm
