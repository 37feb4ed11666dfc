#include "data/registry.h"

#include <set>

#include "data/files.h"
#include "data/made_files.h"
#include "judge.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

// Looks only where the test wants it to, whatever is in the user's cache.
class Registry : public ::testing::Test {
 protected:
  Registry() { ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1); }
  ~Registry() override { ::unsetenv("XDG_CACHE_HOME"); }
  TemporaryFolder folder_;
};

TEST_F(Registry, EveryKnownSetIsConsistent) {
  for (const KnownDataSet& known : known_data_sets()) {
    SCOPED_TRACE(known.name);
    EXPECT_EQ(find_known(known.name), &known);
    EXPECT_EQ(std::set(known.class_names.begin(), known.class_names.end()).size(),
              static_cast<std::size_t>(known.classes));
    for (const KnownFile& file : known.files) EXPECT_TRUE(file.sha256.empty() || file.sha256.size() == 64);
  }
}

TEST_F(Registry, AnAbsentSetSaysHowToGetIt) {
  for (const char* name : {"mnist", "cifar10", "cifar100"}) {
    EXPECT_THAT(error_of([&] { load_data(name, folder_.path()); }),
                HasSubstr(std::string("`lwsvm data get ") + name + "`"));
  }
  for (const DataStatus& status : list_data(folder_.path())) {
    if (status.name == "mnist") {
      EXPECT_FALSE(status.present);
      EXPECT_THAT(status.how, HasSubstr("lwsvm data get mnist"));
    }
  }
}

TEST_F(Registry, UnknownNamesAndPathsAreExplained) {
  for (const auto& [wrong, right] : {std::pair{"mnst", "mnist"},
                                     {"cifar-10", "cifar10"},
                                     {"cifar_100", "cifar100"},
                                     {"fashionmnist", "fashion-mnist"},
                                     {"syntetic", "synthetic"}}) {
    EXPECT_EQ(nearest_known(wrong), right);
    EXPECT_THAT(error_of([&] { load_data(wrong); }),
                AllOf(HasSubstr(wrong), HasSubstr(std::string("did you mean ") + right)));
  }
  EXPECT_THAT(error_of([] { load_data("no/such/file.npz"); }), HasSubstr("no/such/file.npz"));
  EXPECT_THAT(error_of([] { load_data(""); }), HasSubstr("known"));
  EXPECT_THAT(error_of([&] { load_data(folder_.path().string()); }), HasSubstr("not recognised"));
  write_bytes(folder_ / "text.txt", "hello");
  EXPECT_THAT(error_of([&] { load_data((folder_ / "text.txt").string()); }), HasSubstr("not recognised"));
}

TEST_F(Registry, HalfASetIsNotTakenForAWholeOne) {
  const KnownDataSet& mnist = *find_known("mnist");
  for (const KnownFile& file : mnist.files) write_bytes(folder_ / ("mnist/" + file.name), "half");
  EXPECT_TRUE(find_data(mnist, folder_.path()).empty());
  // Small but well-formed .gz files have the right names, and are found out by their counts.
  for (const KnownFile& file : mnist.files) {
    std::filesystem::remove(folder_ / ("mnist/" + file.name));
    const bool images = file.name.find("images") != std::string::npos;
    write_bytes(folder_ / ("mnist/" + file.name + ".gz"),
                gzipped(images ? std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\1ab", 18)
                               : std::string("\0\0\x08\1\0\0\0\2\0\1", 10)));
  }
  EXPECT_THAT(error_of([&] { load_data("mnist", folder_.path()); }),
              AllOf(HasSubstr("2 + 2 samples"), HasSubstr("lwsvm data get mnist")));
}

TEST_F(Registry, FashionMnistIsReadFromItsPackage) {
  const KnownDataSet& known = *find_known("fashion-mnist");
  if (find_data(known).empty()) LWSVM_NO_JUDGE() << "the package dataset-fashion-mnist is not installed";
  const DataSet data = load_data("fashion-mnist");
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train.size(), 60000u);
  EXPECT_EQ(data.test.size(), 10000u);
  EXPECT_EQ(data.shape, (ImageShape{1, 28, 28}));
  EXPECT_EQ(data.class_names.size(), 10u);
}

}  // namespace
}  // namespace lwsvm
