#include "net/layer_kind.h"

#include <gtest/gtest.h>

#include <set>

namespace lwsvm {
namespace {

TEST(LayerKind, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const int last = static_cast<int>(LayerKind::transpose);
  for (int i = 0; i <= last; ++i) names.insert(to_string(static_cast<LayerKind>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last + 1));
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(to_string(LayerKind::conv), "Conv");
  EXPECT_EQ(to_string(LayerKind::prelu), "PRelu");
}

}  // namespace
}  // namespace lwsvm
