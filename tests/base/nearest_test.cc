#include "base/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

const std::vector<std::string>& solvers() {
  static const std::vector<std::string> words = {"adagrad", "adadelta", "adam", "nesterov"};
  return words;
}

std::string random_word(Random& random) {
  std::string word(random.below(7), 'a');
  for (char& c : word) c = static_cast<char>('a' + random.below(3));
  return word;
}

TEST(EditDistance, BehavesLikeADistance) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::string a = random_word(random);
    const std::string b = random_word(random);
    const int distance = edit_distance(a, b);
    EXPECT_EQ(distance, edit_distance(b, a));
    EXPECT_EQ(distance == 0, a == b);
    EXPECT_LE(distance, static_cast<int>(std::max(a.size(), b.size())));
    EXPECT_GE(distance, std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())));
  }
}

TEST(EditDistance, CountsOneEditAsOne) {
  EXPECT_EQ(edit_distance("adma", "adam"), 1);
  EXPECT_EQ(edit_distance("adm", "adam"), 1);
  EXPECT_EQ(edit_distance("adaam", "adam"), 1);
  EXPECT_EQ(edit_distance("Adam", "adam"), 0);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(NearestWord, FindsMisspellingsAndNothingElse) {
  EXPECT_EQ(nearest_word("adma", solvers()), "adam");
  EXPECT_EQ(nearest_word("ADAM", solvers()), "adam");
  EXPECT_EQ(nearest_word("nestorov", solvers()), "nesterov");
  EXPECT_EQ(nearest_word("adadleta", solvers()), "adadelta");
  EXPECT_EQ(nearest_word("lbfgs", solvers()), "");
  EXPECT_EQ(nearest_word("", solvers()), "");
  EXPECT_EQ(nearest_word("adam", {}), "");
  const std::vector<std::string> letters = {"x", "y"};
  EXPECT_EQ(nearest_word("z", letters), "");
}

TEST(NearestWord, MakesTheMessage) {
  try {
    fail_unknown("solver", "solver", "adma", solvers());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "[solver] unknown solver 'adma'; did you mean 'adam'? (known: adagrad, adadelta, adam, nesterov)");
  }
  EXPECT_THROW(fail_unknown("solver", "solver", "zzz", solvers()), Error);
}

}  // namespace
}  // namespace lwsvm
