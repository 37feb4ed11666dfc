#include "data/npz.h"

#include <cstring>
#include <limits>

#include "data/files.h"
#include "data/made_files.h"
#include "judge.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

std::vector<std::uint8_t> numbers(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i * 5);
  return values;
}

const ZipMemberBytes kNpyLabels{"y_train.npy", npy("<i8", "(3,)", raw(std::vector<std::int64_t>{0, 2, 1}))};

std::vector<ZipMemberBytes> small_set() {
  return {{"x_train.npy", npy("|u1", "(3, 2, 4)", raw(numbers(24)))}, kNpyLabels};
}

class Npz : public ::testing::Test {
 protected:
  DataSet load(const std::vector<ZipMemberBytes>& members, bool pack = false) {
    write_bytes(file_, zip(members, pack));
    return load_data(file_.string());
  }
  std::string message(const std::vector<ZipMemberBytes>& members) {
    return error_of([&] { load(members); });
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "set.npz";
};

TEST_F(Npz, StoredAndDeflatedGiveBackWhatWasWritten) {
  auto members = small_set();
  members.push_back({"x_test.npy", npy("|u1", "(1, 2, 4)", raw(numbers(8)))});
  members.push_back({"y_test.npy", npy("|u1", "(1, 1)", "\1")});
  for (const bool pack : {false, true}) {
    const DataSet data = load(members, pack);
    EXPECT_EQ(data.name, "set");
    EXPECT_EQ(data.shape, (ImageShape{1, 2, 4}));
    EXPECT_EQ(data.classes, 3);
    EXPECT_TRUE(data.train.holds_bytes());
    EXPECT_EQ(data.train.labels(), (std::vector<std::int32_t>{0, 2, 1}));
    EXPECT_EQ(data.test.labels(), std::vector<std::int32_t>{1});
    EXPECT_EQ(sample(data.train, 1), (std::vector<float>{40, 45, 50, 55, 60, 65, 70, 75}));
    EXPECT_EQ(sample(data.test, 0), sample(data.train, 0));
  }
}

TEST_F(Npz, MayBringAValidationPart) {
  auto members = small_set();
  EXPECT_TRUE(load(members).validation.empty());
  members.push_back({"x_val.npy", npy("|u1", "(2, 2, 4)", raw(numbers(16)))});
  EXPECT_THAT(message(members), AllOf(HasSubstr("x_val"), HasSubstr("add y_val")));
  members.push_back({"y_val.npy", npy("|u1", "(2, 1)", "\3\1")});
  const DataSet data = load(members);
  EXPECT_EQ(data.classes, 4) << "its labels count";
  EXPECT_EQ(data.train.size(), 3u);
  EXPECT_EQ(data.validation.labels(), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(sample(data.validation, 1), sample(data.train, 1));
}

TEST_F(Npz, TypesAreConverted) {
  const std::vector<double> values{0.5, -1, 2, 3e10, 4, 5};
  const std::vector<float> floats(values.begin(), values.end());
  for (const auto& [type, content] :
       {std::pair<std::string, std::string>{"<f4", raw(floats)}, {"<f8", raw(values)}}) {
    const DataSet data = load({{"x_train.npy", npy(type, "(3, 2)", content)}, kNpyLabels}, true);
    EXPECT_EQ(data.shape, (ImageShape{2, 1, 1}));
    EXPECT_FALSE(data.train.holds_bytes());
    EXPECT_EQ(sample(data.train, 1), (std::vector<float>{2, 3e10f}));
  }
  const std::vector<std::int16_t> integers{-7, 300, 1, 2, 3, 4};
  const DataSet data = load({{"x_train.npy", npy("<i2", "(3, 2)", raw(integers))}, kNpyLabels});
  EXPECT_EQ(sample(data.train, 0), (std::vector<float>{-7, 300}));
}

TEST_F(Npz, ChannelsLastAndFirstAgree) {
  const DataSet first = load({{"x_train.npy", npy("|u1", "(3, 3, 2, 2)", raw(numbers(36)))}, kNpyLabels});
  EXPECT_EQ(first.shape, (ImageShape{3, 2, 2}));
  std::vector<std::uint8_t> moved(36);
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 4; ++p) moved[n * 12 + p * 3 + c] = numbers(36)[n * 12 + c * 4 + p];
    }
  }
  const DataSet last = load({{"x_train.npy", npy("|u1", "(3, 2, 2, 3)", raw(moved))}, kNpyLabels});
  EXPECT_EQ(last.shape, first.shape);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(sample(first.train, n), sample(last.train, n));
}

TEST_F(Npz, EveryTruncationIsRejected) {
  for (const bool pack : {false, true}) {
    expect_truncation_is_rejected(file_, zip(small_set(), pack), [&] { load_data(file_.string()); });
  }
}

TEST_F(Npz, EveryChangedByteIsReadOrRejectedButNeverCrashes) {
  for (const bool pack : {false, true}) {
    const std::string content = zip(small_set(), pack);
    for (std::size_t i = 0; i < content.size(); ++i) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string damaged = content;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        write_bytes(file_, damaged);
        try {
          load_data(file_.string());
        } catch (const Error&) {
        }
      }
    }
  }
}

TEST_F(Npz, BadArraysAreRejectedByName) {
  const auto x = [](const std::string& array) {
    return std::vector<ZipMemberBytes>{{"x_train.npy", array}, kNpyLabels};
  };
  const auto y = [](const std::string& array) {
    return std::vector<ZipMemberBytes>{small_set()[0], {"y_train.npy", array}};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const double huge = 1e300, infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::vector<ZipMemberBytes>, std::string>> cases = {
      {x(npy("<f4", "(3, 1)", raw(std::vector<float>{1, nan, 2}))), "not a number"},
      {x(npy("<f8", "(3, 1)", raw(std::vector<double>{1, infinity, 2}))), "infinite"},
      {x(npy("<f8", "(3, 1)", raw(std::vector<double>{1, huge, 2}))), "too large"},
      {x(npy("|u1", "(3, 2, 4)", raw(numbers(24)), "True")), "Fortran"},
      {x(npy(">f4", "(3, 1)", std::string(12, '\0'))), "big-endian"},
      {x(npy("|O", "(3, 1)", std::string(24, '\0'))), "x_train"},
      {x(npy("<f2", "(3, 1)", std::string(6, '\0'))), "<f2"},
      {x(npy("|u1", "(4, 2, 3)", raw(numbers(24)))), "do not belong together"},
      {x(npy("|u1", "(3, 2, 5)", raw(numbers(24)))), "claims more"},
      {x(npy("|u1", "(3, 2, 3)", raw(numbers(24)))), "do not agree"},
      {x(npy("|u1", "(18446744073709551615, 18446744073709551615)", raw(numbers(24)))), "claims more"},
      {x(npy("|u1", "(99999999999999999999,)", "")), "shape"},
      {x(npy("|u1", "(0, 2, 4)", "")), "empty"},
      {x(npy("|u1", "(3, 0, 4)", "")), "empty"},
      {x(npy("|u1", "(3,)", "abc")), "axes"},
      {x("not an array at all"), "not an array"},
      {y(npy("<i8", "(2,)", raw(std::vector<std::int64_t>{0, 1}))), "2 labels for 3 samples"},
      {y(npy("<i8", "(3,)", raw(std::vector<std::int64_t>{0, -1, 1}))), "label -1"},
      {y(npy("<i8", "(3,)", raw(std::vector<std::int64_t>{0, 1, 1LL << 40}))), "out of range"},
      {y(npy("<i4", "(3,)", raw(std::vector<std::int32_t>{0, 1, 70000}))), "out of range"},
      {y(npy("<f4", "(3,)", raw(std::vector<float>{0, 1, 2}))), "floats"},
      {y(npy("|u1", "(3, 2)", std::string(6, '\0'))), "argmax"},
      {{small_set()[0]}, "no y_train"},
      {{kNpyLabels}, "no x_train"},
      {{small_set()[0], kNpyLabels, {"x_test.npy", small_set()[0].content}}, "y_test"},
      {{}, "not a whole zip archive"},
  };
  for (const auto& [members, expected] : cases) {
    SCOPED_TRACE(expected);
    EXPECT_THAT(message(members), AllOf(HasSubstr("set.npz"), HasSubstr(expected)));
  }
}

TEST_F(Npz, AClaimOfMoreThanTheArchiveHoldsAllocatesNothing) {
  for (const bool pack : {false, true}) {
    std::string content = zip(small_set(), pack);
    const auto message = [&] {
      write_bytes(file_, content);
      return error_of([&] { load_data(file_.string()); });
    };
    content.replace(content.find("PK\1\2") + 24, 4, little_endian(0x7ffffff0, 4));
    EXPECT_THAT(message(), AllOf(HasSubstr("set.npz"), HasSubstr("not a whole zip archive")));
    content.replace(22, 4,
                    little_endian(0x7ffffff0, 4));  // where the member begins as well as in the directory
    EXPECT_THAT(message(), AllOf(HasSubstr("set.npz"), HasSubstr("claims more")));
  }
}

TEST_F(Npz, MembersPackedByOtherMeansAreRejectedWithARemedy) {
  const auto message_with = [&](std::size_t in_member, std::size_t in_directory, int value) {
    std::string content = zip(small_set(), false);
    content.replace(in_member, 2, little_endian(static_cast<std::uint64_t>(value), 2));
    content.replace(content.find("PK\1\2") + in_directory, 2,
                    little_endian(static_cast<std::uint64_t>(value), 2));
    write_bytes(file_, content);
    return error_of([&] { load_data(file_.string()); });
  };
  for (const int method : {1, 9, 12, 14, 93, 95, 99})
    EXPECT_THAT(message_with(8, 10, method), AllOf(HasSubstr("set.npz"), HasSubstr("savez_compressed")));
  EXPECT_THAT(message_with(6, 8, 1), AllOf(HasSubstr("set.npz"), HasSubstr("encrypted")));
}

TEST_F(Npz, FilesOfNumpyAreRead) {
  if (std::system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
    LWSVM_NO_JUDGE() << "/usr/bin/python3 with numpy is not here";
  }
  for (const char* save : {"savez", "savez_compressed"}) {
    const std::string script = fmt::format(
        "import numpy as n; n.{}('{}', x_train=n.arange(60,dtype=n.float64).reshape(5,3,2,2)/4,"
        " y_train=n.arange(5)%3, x_test=n.ones((2,3,2,2)), y_test=n.array([[2],[0]],dtype=n.uint8))",
        save, file_.string());
    ASSERT_EQ(std::system(("/usr/bin/python3 -c \"" + script + "\"").c_str()), 0);
    const DataSet data = load_data(file_.string());
    EXPECT_EQ(data.shape, (ImageShape{3, 2, 2}));
    EXPECT_EQ(data.train.labels(), (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
    EXPECT_EQ(data.test.labels(), (std::vector<std::int32_t>{2, 0}));
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(sample(data.train, 4)[i], static_cast<float>(48 + i) / 4);
  }
}

}  // namespace
}  // namespace lwsvm
