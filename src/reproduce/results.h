// What a reproduction comes to: the paper's table with our figures, in several formats.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "report/page.h"
#include "report/table.h"
#include "reproduce/parts.h"
#include "reproduce/plan.h"

namespace lwsvm::reproduce {

using PartResults = std::map<std::string, PartResult>;  // by part; what is not finished is not there

Table readable_table(const Plan& plan, const PartResults& results);  // as in the paper, its figures beside
ReportTable report_table(const Plan& plan, const PartResults& results);  // the same for the page
Table exact_table(const Plan& plan, const PartResults& results);         // all digits, for CSV

// Everything: plan, settings, machine, version, results, rows.
nlohmann::ordered_json results_json(const Plan& plan, const PartResults& results);

// table.md, table.csv, table.tex and results.json in the plan's folder.
void write_results(const Plan& plan, const PartResults& results);

}  // namespace lwsvm::reproduce
