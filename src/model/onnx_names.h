// Names that are given only once: the second "conv" becomes "conv_2".
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace lwsvm {

class UniqueNames {
 public:
  std::string claim(const std::string& wanted) {
    if (taken_.insert(wanted).second) return wanted;
    int& count = last_[wanted];
    if (count == 0) count = 1;
    for (;;) {
      std::string name = fmt::format("{}_{}", wanted, ++count);
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_;  // the number given last: many equal names stay linear in time
};

}  // namespace lwsvm
