#include "base/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/random.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Checkpoint small_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.meta() = {{"epoch", 3}, {"best", -std::numeric_limits<double>::infinity()}};
  checkpoint.put("weights", std::vector<float>{1.5F, -0.0F, 3e-42F});
  checkpoint.put("labels", std::vector<std::int32_t>{7, -1});
  checkpoint.put("empty", std::vector<std::uint8_t>{});
  return checkpoint;
}

// Bytes put where a file is expected; the message of the Error that loading it must throw.
std::string load_error(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  try {
    Checkpoint::load(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// After an edit of the bytes: a CRC that agrees again, so that the checks after it are reached.
std::string with_crc(std::string bytes) {
  const std::size_t size = bytes.size() - 4;
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), size));
  std::memcpy(bytes.data() + size, &crc, 4);
  return bytes;
}

TEST(Checkpoint, ReturnsEveryBitOfEveryType) {
  TemporaryFolder folder;
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    Checkpoint out;
    const auto fill = [&]<typename T>(const char* name, T) {
      std::vector<T> values(random.below(50));
      for (T& value : values) {
        const std::uint64_t bits = random.next();  // any bits: NaNs and denormals too
        std::memcpy(&value, &bits, sizeof(T));
      }
      out.put(name, values);
      return values;
    };
    const auto floats = fill("a", float{});
    const auto doubles = fill("b", double{});
    const auto ints = fill("c", std::int32_t{});
    const auto longs = fill("d", std::uint64_t{});
    const auto bytes = fill("e", std::uint8_t{});
    out.meta()["round"] = round;
    out.save(folder / "c");
    const Checkpoint in = Checkpoint::load(folder / "c");
    const auto same = [&]<typename T>(const char* name, const std::vector<T>& expected) {
      const auto values = in.get<T>(name, expected.size());
      return expected.empty() || std::memcmp(values.data(), expected.data(), values.size_bytes()) == 0;
    };
    EXPECT_TRUE(same("a", floats) && same("b", doubles) && same("c", ints) && same("d", longs) &&
                same("e", bytes));
    EXPECT_EQ(in.meta()["round"], round);
    EXPECT_THAT(in.names(), ElementsAre("a", "b", "c", "d", "e"));
  }
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(Checkpoint, MetaCanBeReadAlone) {
  TemporaryFolder folder;
  small_checkpoint().save(folder / "c");
  EXPECT_EQ(Checkpoint::load_meta(folder / "c"), Checkpoint::load(folder / "c").meta());
  const std::string bytes = read_file(folder / "c");
  write_file_atomically(folder / "cut", bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW(Checkpoint::load_meta(folder / "cut"), Error);
  EXPECT_THROW(Checkpoint::load_meta(folder / "absent"), Error);
}

TEST(Checkpoint, MetaKeepsWhatJsonTextWouldLose) {
  TemporaryFolder folder;
  Checkpoint out;
  out.meta() = {{"low", -std::numeric_limits<double>::infinity()},
                {"nan", std::nan("")},
                {"third", 1.0 / 3.0},
                {"large", std::numeric_limits<std::uint64_t>::max()},
                {"path", "not utf-8: \xff"}};
  out.save(folder / "c");
  const auto in = Checkpoint::load(folder / "c");
  EXPECT_EQ(in.meta()["low"].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(in.meta()["nan"].get<double>()));
  EXPECT_EQ(in.meta()["third"].get<double>(), 1.0 / 3.0);
  EXPECT_EQ(in.meta()["large"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.meta()["path"].get<std::string>(), "not utf-8: \xff");
}

TEST(Checkpoint, TruncatedAnywhereIsAnError) {
  TemporaryFolder folder;
  small_checkpoint().save(folder / "good");
  const std::string bytes = read_file(folder / "good");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(load_error(folder / "bad", bytes.substr(0, size)), HasSubstr("bad: ")) << size;
  }
  EXPECT_THAT(load_error(folder / "bad", bytes + "x"), HasSubstr("damaged"));
  EXPECT_EQ(load_error(folder / "bad", bytes), "");
}

TEST(Checkpoint, AnyFlippedBitIsAnError) {
  TemporaryFolder folder;
  small_checkpoint().save(folder / "good");
  const std::string bytes = read_file(folder / "good");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(load_error(folder / "bad", damaged), HasSubstr("bad: ")) << bit;
  }
}

// Whatever the bytes claim, with a CRC that agrees: no crash, and no memory beyond the file's own size.
TEST(Checkpoint, ForgedLengthsAreErrorsOrHarmless) {
  TemporaryFolder folder;
  small_checkpoint().save(folder / "good");
  const std::string bytes = read_file(folder / "good");
  for (std::size_t i = 0; i + 4 < bytes.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7F, 0xFF}) {
      std::string forged = bytes;
      forged[i] = static_cast<char>(value);
      load_error(folder / "bad", with_crc(forged));
    }
  }
}

// Only a file that was made to do so is nested like this: its checksum agrees.
TEST(Checkpoint, MetaThatIsNestedTooDeepIsAnError) {
  TemporaryFolder folder;
  Checkpoint checkpoint;
  for (int i = 0; i < 1000; ++i) checkpoint.meta() = nlohmann::json::array({std::move(checkpoint.meta())});
  checkpoint.save(folder / "deep");
  EXPECT_THAT(load_error(folder / "bad", read_file(folder / "deep")), HasSubstr("metadata cannot be read"));
  EXPECT_THROW(Checkpoint::load_meta(folder / "deep"), Error);
}

TEST(Checkpoint, SaysWhatIsNotACheckpoint) {
  TemporaryFolder folder;
  EXPECT_THAT(load_error(folder / "bad", std::string(100, 'x')), HasSubstr("not a checkpoint of lwsvm"));
  small_checkpoint().save(folder / "good");
  std::string newer = read_file(folder / "good");
  newer[8] = 9;
  EXPECT_THAT(load_error(folder / "bad", newer), HasSubstr("format version 9"));
  EXPECT_THROW(Checkpoint::load(folder / "absent"), Error);
  EXPECT_THROW(Checkpoint::load(folder.path()), Error);
}

TEST(Checkpoint, WrongNameTypeOrSizeIsAnError) {
  const Checkpoint checkpoint = small_checkpoint();
  EXPECT_TRUE(checkpoint.has("weights"));
  EXPECT_FALSE(checkpoint.has("weight"));
  EXPECT_THROW(checkpoint.get_floats("weight"), Error);
  EXPECT_THROW(checkpoint.get<double>("weights"), Error);
  EXPECT_THROW(checkpoint.get<float>("weights", 4), Error);
  EXPECT_EQ(checkpoint.get<float>("weights", 3)[0], 1.5F);
}

TEST(Checkpoint, ViewsAndMovesDoNotCopy) {
  std::vector<float> mine(1000, 1.0F);
  std::vector<float> moved(1000, 2.0F);
  const float* address = moved.data();
  Checkpoint checkpoint;
  checkpoint.put_view("view", std::span<const float>(mine));
  checkpoint.put("moved", std::move(moved));
  EXPECT_EQ(checkpoint.get_floats("view").data(), mine.data());
  Checkpoint other = std::move(checkpoint);
  EXPECT_EQ(other.get_floats("moved").data(), address);
  EXPECT_EQ(other.take<float>("moved").data(), address);
  EXPECT_EQ(other.take<float>("view"), mine);
  EXPECT_FALSE(other.has("moved"));
}

TEST(Checkpoint, FailedSaveLeavesTheOldFile) {
  TemporaryFolder folder;
  small_checkpoint().save(folder / "c");
  const std::string before = read_file(folder / "c");
  Checkpoint larger = small_checkpoint();
  larger.put("much", std::vector<float>(100000));
  // A limit on file size stands in for a full disk.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit low = old;
  low.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &low);
  EXPECT_THROW(larger.save(folder / "c"), Error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(folder / "c"), before);
  EXPECT_EQ(folder.entries(), 1U);
}

}  // namespace
}  // namespace lwsvm
