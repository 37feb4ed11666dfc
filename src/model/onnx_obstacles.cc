// A parameter can be changed alone if each of its numbers has a place of its own in the file, and nobody else
// computes with what lies there.
#include "model/onnx_obstacles.h"

#include <algorithm>
#include <unordered_set>

#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

using Users = std::vector<const onnx::NodeProto*>;

bool is_constant(const ImportState& state, const std::string& name) {
  const auto found = state.values.find(name);
  return found != state.values.end() && found->second.is_constant();
}

// The nodes that compute with the constant of these names, directly or through others that only rearrange it.
// What became a list of integers (its shape) does not count.
Users users_of(const ImportState& state, std::vector<std::string> names) {
  Users users;
  std::unordered_set<std::string> seen(names.begin(), names.end());
  while (!names.empty()) {
    const auto readers = state.readers.find(names.back());
    names.pop_back();
    if (readers == state.readers.end()) continue;
    for (const onnx::NodeProto* reader : readers->second) {
      bool rearranges = false;
      for (const std::string& output : reader->output()) {
        if (!is_constant(state, output)) continue;
        rearranges = true;
        const ImportedValue& value = state.values.at(output);
        const bool integral = value.folded && value.folded->integral;
        if (!integral && seen.insert(output).second) names.push_back(output);
      }
      if (!rearranges) users.push_back(reader);
    }
  }
  return users;
}

std::string listed(const Users& users) {
  if (users.size() == 1) return shown(*users[0]) + ", more than once";
  return fmt::format("{} nodes, {} and {}{}", users.size(), shown(*users[0]), shown(*users[1]),
                     users.size() > 2 ? ", ..." : "");
}

// What the parameters take of one tensor of the file.
struct Taken {
  std::vector<std::string> names;  // under which nodes read it
  std::vector<const ImportedParameter*> by;
};

bool takes_twice(const ImportState& state, const Taken& taken) {
  std::vector<bool> seen(reals_of(*taken.by[0]->origin.tensor).size());
  for (const ImportedParameter* imported : taken.by) {
    const auto size = state.graph.node(imported->node).parameters[imported->parameter].range.size;
    for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
      const std::size_t index = imported->origin.index(k);
      if (seen[index]) return true;
      seen[index] = true;
    }
  }
  return false;
}

// Why the numbers of this tensor cannot be changed; empty if they can.
std::string obstacle_of(const ImportState& state, const Taken& taken) {
  const Users users = users_of(state, taken.names);
  if (users.size() <= taken.by.size() && !takes_twice(state, taken)) return "";
  const std::string& name = taken.by[0]->origin.tensor->name();
  return fmt::format("'{}' is used by {}; lwsvm changes weights only where they are used once",
                     name.empty() ? taken.names[0] : name, listed(users));
}

std::unordered_map<const onnx::TensorProto*, std::string> all_obstacles(const ImportState& state) {
  std::unordered_map<const onnx::TensorProto*, Taken> taken;
  for (const ImportedParameter& imported : state.parameters)
    if (imported.origin.known()) taken[imported.origin.tensor].by.push_back(&imported);
  for (const auto& [name, value] : state.values)
    if (const auto found = taken.find(value.tensor); found != taken.end())
      found->second.names.push_back(name);
  std::unordered_map<const onnx::TensorProto*, std::string> obstacles;
  for (auto& [tensor, uses] : taken) {
    std::sort(uses.names.begin(), uses.names.end());
    obstacles.emplace(tensor, obstacle_of(state, uses));
  }
  return obstacles;
}

}  // namespace

std::vector<StoredParameter> stored_parameters(const ImportState& state) {
  const auto obstacles = all_obstacles(state);
  std::vector<StoredParameter> all;
  for (const ImportedParameter& imported : state.parameters) {
    const Node& node = state.graph.node(imported.node);
    const Parameter& parameter = node.parameters[imported.parameter];
    StoredParameter stored;
    stored.layer = node.name;
    stored.name = parameter.name;
    stored.statistic = parameter.role == Role::statistic;
    stored.range = parameter.range;
    stored.origin = imported.origin;
    if (stored.origin.known()) {
      const std::string& obstacle = obstacles.at(stored.origin.tensor);
      if (!obstacle.empty()) stored.obstacle = fmt::format("its {} {}", stored.name, obstacle);
    } else {
      stored.obstacle =
          fmt::format("the file computes its {} from constants in a way that lwsvm cannot undo", stored.name);
      const auto& store = stored.statistic ? state.graph.statistics() : state.graph.parameters();
      stored.computed.assign(store.begin() + stored.range.begin, store.begin() + stored.range.end());
    }
    all.push_back(std::move(stored));
  }
  return all;
}

}  // namespace lwsvm
