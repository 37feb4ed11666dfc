// lwsvm cache: what commands have kept for each other, and getting rid of it.
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/units.h"
#include "cli/commands.h"
#include "report/json_text.h"
#include "report/table.h"

namespace lwsvm::cli {
namespace {

std::string date_of(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[32];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local) > 0 ? text : "";
}

void print_entries(const std::vector<CacheEntry>& entries, const CacheFolder& cache, const Common& common,
                   const char* sum) {
  std::uint64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  if (common.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const CacheEntry& entry : entries)
      list.push_back({{"kind", entry.kind},
                      {"description", entry.description},
                      {"bytes", entry.bytes},
                      {"last_use", entry.last_use},
                      {"path", entry.path.string()}});
    fmt::print("{}\n",
               json_text(nlohmann::ordered_json{
                   {"folder", cache.folder().string()}, {"bytes", total}, {"files", std::move(list)}}));
    return;
  }
  if (!entries.empty()) {
    Table table({"kind", "of", "size", "last used"});
    for (const CacheEntry& entry : entries)
      table.add({entry.kind, entry.description, format_bytes(static_cast<double>(entry.bytes)),
                 date_of(entry.last_use)});
    fmt::print("{}", table.str());
  }
  fmt::print("{}: {} files, {} {}\n", cache.folder().string(), entries.size(),
             format_bytes(static_cast<double>(total)), sum);
}

}  // namespace

std::vector<Command> add_cache(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("cache", "list or clear what commands keep for each other");
  sub->require_subcommand(1);
  CLI::App* list = sub->add_subcommand("list", "decoded photos and the like: of what, how large, last used");
  add_common_options(*list, common);
  add_cache_folder_option(*list, common);
  CLI::App* clear = sub->add_subcommand("clear", "remove them; they are made again when they are needed");
  auto kind = std::make_shared<std::string>();
  clear->add_option("kind", *kind, "only these, such as photos (default: all)");
  add_common_options(*clear, common);
  add_cache_folder_option(*clear, common);
  return {{list,
           [&common] {
             const CacheFolder cache(common.cache);
             print_entries(cache.entries(), cache, common, "in all");
             return done;
           }},
          {clear, [kind, &common] {
             const CacheFolder cache(common.cache);
             print_entries(cache.clear(*kind), cache, common, "removed");
             return done;
           }}};
}

}  // namespace lwsvm::cli
