// Saving and restoring a solver: every part names its arrays once, in visit(StateArchive&), and the archive
// decides whether they go into the checkpoint or come out of it. A saved and restored solver continues to the
// same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checkpoint.h"
#include "base/error.h"

namespace lwsvm {

class StateArchive {
 public:
  static StateArchive saving_to(Checkpoint& checkpoint) { return StateArchive(checkpoint, false); }
  static StateArchive loading_from(Checkpoint& checkpoint) { return StateArchive(checkpoint, true); }

  bool loading() const { return loading_; }

  // Saving: the checkpoint looks at the array, which must stay as it is until it is written: state may be of
  // gigabytes. Loading: replaces it, whatever its size. T as in Checkpoint.
  template <typename T>
  void array(const std::string& name, std::vector<T>& values) {
    if (loading_)
      values = checkpoint_.take<T>(name);
    else
      checkpoint_.put_view(name, std::span<const T>(values));
  }

  // The same for what was made for the archive: saving takes it.
  template <typename T>
  void made_array(const std::string& name, std::vector<T>& values) {
    if (loading_)
      values = checkpoint_.take<T>(name);
    else
      checkpoint_.put(name, std::move(values));
  }

  // An array whose size is part of the problem: loading one of another size is an Error.
  template <typename T>
  void array_of_same_size(const std::string& name, std::vector<T>& values) {
    const std::size_t expected = values.size();
    array(name, values);
    if (values.size() != expected)
      fail("checkpoint", "'{}' holds {} numbers, this problem needs {}: it belongs to another problem", name,
           values.size(), expected);
  }

  template <typename T>
  void scalar(const std::string& name, T& value) {
    std::vector<T> values{value};
    made_array(name, values);
    if (!loading_) return;
    if (values.size() != 1) fail("checkpoint", "'{}' holds {} numbers, not one", name, values.size());
    value = values[0];
  }

 private:
  StateArchive(Checkpoint& checkpoint, bool loading) : checkpoint_(checkpoint), loading_(loading) {}

  Checkpoint& checkpoint_;
  bool loading_;
};

}  // namespace lwsvm
