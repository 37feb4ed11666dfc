#include "run/ranks.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/version.h"
#include "engine/instruction_set.h"

namespace lwsvm::run {
namespace {

// FNV-1a: to tell apart what was not made to look alike.
std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const std::byte byte : bytes)
    value = (value ^ static_cast<std::uint64_t>(byte)) * std::uint64_t{0x100000001b3};
  return value;
}
std::uint64_t fingerprint(const std::string& text) {
  return fingerprint(std::as_bytes(std::span(text)));
}

// One value of each rank, and what it is of.
struct Compared {
  const char* what;
  std::uint64_t value;
};

// Throws on every rank if anybody's values differ from the first rank's.
void check_same(Team& team, std::span<const Compared> own) {
  std::vector<std::uint64_t> values;
  for (const Compared& each : own) values.push_back(each.value);
  std::vector<std::uint64_t> all(values.size() * static_cast<std::size_t>(team.size()));
  team.gather(std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(all)));
  const std::vector<std::string> names = names_of(team);
  std::vector<std::string> complaints;
  for (std::size_t k = 0; k < own.size(); ++k) {
    std::vector<std::string> others;
    for (std::size_t rank = 1; rank < names.size(); ++rank)
      if (all[rank * own.size() + k] != all[k]) others.push_back(names[rank]);
    if (!others.empty())
      complaints.push_back(
          fmt::format("{}: {} not the same as on {}", fmt::join(others, "; "), own[k].what, names[0]));
  }
  if (!complaints.empty())
    fail("ranks", "{}; every rank must begin with the same program, options and files",
         fmt::join(complaints, "; "));
}

}  // namespace

void check_same_start(Team& team, const nlohmann::json& settings, const Model& model, const Task& task) {
  if (team.is_alone()) return;
  // By itself, and first: another version may compare other things.
  const Compared program[] = {{"the version of lwsvm, or the processor's instruction set, is",
                               fingerprint(fmt::format("{} {}", version_line(), instruction_set_name()))}};
  check_same(team, program);
  const Compared rest[] = {
      {"the options are", fingerprint(settings.dump())},
      {"the network's weights are", fingerprint(std::as_bytes(std::span(model.graph.parameters())))},
      {"the data are", checksum(task.data)}};
  check_same(team, rest);
}

void check_same_weights(Team& team, const Graph& graph) {
  if (team.is_alone()) return;
  const Compared weights[] = {
      {"the weights that it came to are", fingerprint(std::as_bytes(std::span(graph.parameters())))}};
  check_same(team, weights);
}

std::vector<std::string> names_of(Team& team) {
  std::array<char, 96> own{};
  const std::string name = team.name();
  std::copy_n(name.begin(), std::min(name.size(), own.size() - 1), own.begin());
  std::vector<char> all(own.size() * static_cast<std::size_t>(team.size()));
  team.gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> names;
  for (std::size_t k = 0; k < all.size(); k += own.size()) names.emplace_back(all.data() + k);
  return names;
}

nlohmann::ordered_json times_record(Team& team) {
  const TeamTimes own = team.times();
  const double mine[] = {own.seconds - own.exchange - own.waiting, own.exchange, own.waiting,
                         static_cast<double>(own.bytes), static_cast<double>(own.exchanges)};
  const std::vector<double> all = gather(team, mine);
  const std::vector<std::string> names = names_of(team);
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double* of = all.data() + k * std::size(mine);
    ranks.push_back({{"rank", names[k]},
                     {"computing", of[0]},
                     {"exchanging", of[1]},
                     {"waiting", of[2]},
                     {"bytes_sent", static_cast<std::uint64_t>(of[3])},
                     {"exchanges", static_cast<std::uint64_t>(of[4])}});
  }
  return {{"type", "ranks"}, {"ranks", std::move(ranks)}};
}

}  // namespace lwsvm::run
