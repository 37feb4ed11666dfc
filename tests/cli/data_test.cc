#include <gmock/gmock.h>

#include "cli/program.h"

namespace lwsvm::cli {
namespace {

using testing::HasSubstr;

TEST(Data, ListNamesTheKnownSets) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), {"data", "list"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"mnist", "fashion-mnist", "cifar10", "cifar100", "synthetic"})
    EXPECT_THAT(result.out, HasSubstr(name));
}

TEST(Data, ListAsJsonSaysWhatIsThere) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), {"data", "list", "--json", "--data-dir", folder.path().string()});
  EXPECT_EQ(result.exit_code, 0);
  const json sets = result.value();
  ASSERT_TRUE(sets.is_array());
  for (const json& set : sets)
    EXPECT_TRUE(set["present"].get<bool>() || !set["how"].get<std::string>().empty());
}

TEST(Data, GetOfAnUnknownNameOffersTheNearest) {
  TemporaryFolder folder;
  const Result result =
      run(folder.path(), {"data", "get", "fasion-mnist", "--data-dir", folder.path().string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean fashion-mnist?"));
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
}  // namespace lwsvm::cli
