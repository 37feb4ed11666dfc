#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lwsvm {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

std::vector<std::uint8_t> nested_cbor(std::size_t depth) {
  std::vector<std::uint8_t> bytes(depth, 0x81);  // a list of one element
  bytes.push_back(0x01);
  return bytes;
}

TEST(JsonReader, GivesBackWhatWasWritten) {
  const nlohmann::ordered_json value = {{"z", 1}, {"a", {1.5, nullptr, true, "text", {{"b", {}}}}}};
  EXPECT_EQ(read_json(value.dump()).dump(), value.dump()) << "also the order";
  const nlohmann::json binary = {{"list", {1, -2.5, "x"}}, {"bytes", nlohmann::json::binary({1, 2})}};
  EXPECT_EQ(read_cbor(nlohmann::json::to_cbor(binary)), binary);
}

TEST(JsonReader, DiscardsWhatIsNone) {
  for (const char* text : {"", "{", "{\"a\":}", "1e999", "[1]x", "\"\xff\""})
    EXPECT_TRUE(read_json(text).is_discarded()) << text;
  EXPECT_TRUE(read_cbor({}).is_discarded());
  EXPECT_TRUE(read_cbor(std::vector<std::uint8_t>{0x01, 0x01}).is_discarded()) << "something after it";
}

TEST(JsonReader, NestingHasALimit) {
  EXPECT_TRUE(read_json(nested(kDeepestJson)).is_array());
  EXPECT_TRUE(read_json(nested(kDeepestJson + 1)).is_discarded());
  EXPECT_TRUE(read_cbor(nested_cbor(kDeepestJson)).is_array());
  EXPECT_TRUE(read_cbor(nested_cbor(kDeepestJson + 1)).is_discarded());
  // These overflowed the stack.
  EXPECT_TRUE(read_json(nested(2'000'000)).is_discarded());
  EXPECT_TRUE(read_cbor(nested_cbor(2'000'000)).is_discarded());
}

TEST(JsonReader, SiblingsAreNotNested) {
  std::string text = "[";
  for (int i = 0; i < 3 * kDeepestJson; ++i) text += "[{}],";
  EXPECT_EQ(read_json(text + "1]").size(), 3u * kDeepestJson + 1);
}

// nlohmann::json throws at these.
TEST(JsonReader, ClaimsBeyondTheBytesAreDiscarded) {
  for (const std::uint8_t kind : {0x9b, 0xbb}) {  // a list, an object, with a length of eight bytes
    std::vector<std::uint8_t> bytes = {kind, 0x0f};
    bytes.resize(9, 0xff);
    EXPECT_TRUE(read_cbor(bytes).is_discarded());
  }
}

}  // namespace
}  // namespace lwsvm
