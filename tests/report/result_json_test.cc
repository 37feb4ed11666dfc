#include "report/result_json.h"

#include <gtest/gtest.h>

namespace lwsvm {
namespace {

TEST(ResultJson, OfAQualityComesBackAsItWas) {
  for (const Quality& quality :
       {Quality{0.25, 0.75, 0.5, 0.625}, Quality{0.25, 0.75, 0.5, {}}, Quality{0.25, 0.75, {}, {}}}) {
    const auto again = nlohmann::json(quality).get<Quality>();
    EXPECT_EQ(again.objective, quality.objective);
    EXPECT_EQ(again.train_accuracy, quality.train_accuracy);
    EXPECT_EQ(again.val_accuracy, quality.val_accuracy);
    EXPECT_EQ(again.test_accuracy, quality.test_accuracy);
  }
}

TEST(ResultJson, HasTheTestAccuracyForTheAccuracyWhereThereIsOne) {
  EXPECT_EQ(nlohmann::json(Quality{0, 0.75, 0.5, 0.625})["accuracy"], 0.625);
  EXPECT_EQ(nlohmann::json(Quality{0, 0.75, 0.5, {}})["accuracy"], 0.75);
  EXPECT_FALSE(nlohmann::json(Quality{0, 0.75, {}, {}}).contains("val_accuracy"));
}

}  // namespace
}  // namespace lwsvm
