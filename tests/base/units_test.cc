#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

TEST(Units, ParsesSizes) {
  EXPECT_EQ(parse_bytes("0", "t"), 0U);
  EXPECT_EQ(parse_bytes("1000", "t"), 1000U);
  EXPECT_EQ(parse_bytes("512M", "t"), 512ULL << 20);
  EXPECT_EQ(parse_bytes("4g", "t"), 4ULL << 30);
  EXPECT_EQ(parse_bytes("4GB", "t"), 4ULL << 30);
  EXPECT_EQ(parse_bytes(" 1.5 GiB ", "t"), 3ULL << 29);
  EXPECT_EQ(parse_bytes("2T", "t"), 2ULL << 40);
}

TEST(Units, RefusesWhatIsNotASize) {
  for (const char* text : {"", " ", "G", "4X", "4GG", "-1", "+1", "nan", "inf", "1e9", "0x10", "4G5", "1 2",
                           "99999999T", "1e", "4ib", "."}) {
    EXPECT_THROW(parse_bytes(text, "--memory"), Error) << text;
  }
}

TEST(Units, ParsesDurations) {
  EXPECT_EQ(parse_duration("45", "t"), 45);
  EXPECT_EQ(parse_duration("90s", "t"), 90);
  EXPECT_EQ(parse_duration("10m", "t"), 600);
  EXPECT_EQ(parse_duration("1h30m", "t"), 5400);
  EXPECT_EQ(parse_duration("1h 30m 5s", "t"), 5405);
  EXPECT_EQ(parse_duration("1.5h", "t"), 5400);
  EXPECT_EQ(parse_duration("2d", "t"), 172800);
  EXPECT_EQ(parse_duration("250ms", "t"), 0.25);
  EXPECT_EQ(parse_duration("0", "t"), 0);
}

TEST(Units, RefusesWhatIsNotADuration) {
  for (const char* text :
       {"", "m", "-5s", "5m5m", "30m1h", "1h30", "5 6", "1y", "nan", "inf", "1e3s", "5s!", "1:30"}) {
    EXPECT_THROW(parse_duration(text, "--time"), Error) << text;
  }
}

TEST(Units, FormatsDurations) {
  EXPECT_EQ(format_duration(0), "0.00s");
  EXPECT_EQ(format_duration(0.123), "0.12s");
  EXPECT_EQ(format_duration(0.996), "1.0s");
  EXPECT_EQ(format_duration(8.26), "8.3s");
  EXPECT_EQ(format_duration(9.97), "10s");
  EXPECT_EQ(format_duration(59.6), "1m 00s");
  EXPECT_EQ(format_duration(83), "1m 23s");
  EXPECT_EQ(format_duration(3599.7), "1h 00m");
  EXPECT_EQ(format_duration(7530), "2h 06m");
  EXPECT_EQ(format_duration(86400.0 * 3 + 3600 * 4), "3d 04h");
  EXPECT_EQ(format_duration(std::nan("")), "?");
  EXPECT_EQ(format_duration(HUGE_VAL), "?");
}

// What is printed can be read again, and means the same to the precision that is shown.
TEST(Units, DurationsSurviveTheRoundTrip) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const double seconds = std::exp(random.uniform(-4, 13));
    const double back = parse_duration(format_duration(seconds), "t");
    EXPECT_NEAR(back, seconds, std::max(0.006, 0.05 * seconds)) << format_duration(seconds);
  }
}

TEST(Units, SizesSurviveTheRoundTrip) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    const double bytes = std::floor(std::exp(random.uniform(0, 30)));
    EXPECT_NEAR(static_cast<double>(parse_bytes(format_bytes(bytes), "t")), bytes, 0.051 * bytes);
  }
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1.2 * 1024 * 1024 * 1024), "1.2 GiB");
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.0 MiB");
}

TEST(Units, GroupsCountsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(12345), "12,345");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(INT64_MIN), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace lwsvm
