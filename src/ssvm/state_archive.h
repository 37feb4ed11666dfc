// Saving and restoring a solver: every part names its arrays once, in visit(StateArchive&), and the archive
// decides whether they are written or read. A saved and restored solver continues to the same bits.
//
// ArrayMap is the archive in memory; a file format only has to implement StateArchive.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace lwsvm {

class StateArchive {
 public:
  virtual ~StateArchive() = default;

  virtual bool loading() const = 0;
  // Saving: stores the array. Loading: replaces it, whatever its size.
  virtual void array(std::string_view name, std::vector<double>& values) = 0;
  virtual void array(std::string_view name, std::vector<float>& values) = 0;
  virtual void array(std::string_view name, std::vector<std::int32_t>& values) = 0;
  virtual void array(std::string_view name, std::vector<std::uint64_t>& values) = 0;
  virtual void array(std::string_view name, std::vector<std::uint8_t>& values) = 0;

  // An array whose size is part of the problem: loading one of another size is an Error.
  template <typename T>
  void array_of_same_size(std::string_view name, std::vector<T>& values) {
    const std::size_t expected = values.size();
    array(name, values);
    if (values.size() != expected)
      fail("checkpoint", "'{}' holds {} numbers, this problem needs {}: it belongs to another problem", name,
           values.size(), expected);
  }

  void scalar(std::string_view name, double& value) { one(name, value); }
  void scalar(std::string_view name, std::uint64_t& value) { one(name, value); }

 private:
  template <typename T>
  void one(std::string_view name, T& value) {
    std::vector<T> values{value};
    array_of_same_size(name, values);
    value = values[0];
  }
};

using AnyArray = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int32_t>,
                              std::vector<std::uint64_t>, std::vector<std::uint8_t>>;
using ArrayMap = std::map<std::string, AnyArray, std::less<>>;

class MapArchive final : public StateArchive {
 public:
  static MapArchive saving_to(ArrayMap& map) { return MapArchive(map, false); }
  static MapArchive loading_from(ArrayMap& map) { return MapArchive(map, true); }

  bool loading() const override { return loading_; }
  void array(std::string_view name, std::vector<double>& values) override { exchange(name, values); }
  void array(std::string_view name, std::vector<float>& values) override { exchange(name, values); }
  void array(std::string_view name, std::vector<std::int32_t>& values) override { exchange(name, values); }
  void array(std::string_view name, std::vector<std::uint64_t>& values) override { exchange(name, values); }
  void array(std::string_view name, std::vector<std::uint8_t>& values) override { exchange(name, values); }

 private:
  MapArchive(ArrayMap& map, bool loading) : map_(map), loading_(loading) {}

  template <typename T>
  void exchange(std::string_view name, std::vector<T>& values) {
    if (!loading_) {
      map_.insert_or_assign(std::string(name), values);
      return;
    }
    const auto found = map_.find(name);
    if (found == map_.end() || !std::holds_alternative<std::vector<T>>(found->second))
      fail("checkpoint", "'{}' is missing or of another type: the checkpoint is not one of this solver",
           name);
    values = std::get<std::vector<T>>(found->second);
  }

  ArrayMap& map_;
  bool loading_;
};

}  // namespace lwsvm
