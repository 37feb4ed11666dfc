// Weights in files beside the model: taken in, and nothing outside the model's folder is ever read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "model/foreign_cases.h"
#include "model/onnx_writer.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ExternalData : public testing::Test {
 protected:
  ExternalData() {
    fs::create_directory(home_);
    w_ = &file_.floats("w", {4, 2}, values_);
    file_.node("MatMul", {"x", "w"});
    w_->clear_float_data();
    w_->set_data_location(onnx::TensorProto::EXTERNAL);
    write_file_atomically(home_ / "weights.bin", "12345678" + bytes() + "rest");
    write_file_atomically(folder_ / "secret", "12345678" + bytes());
  }

  std::string bytes() const { return {reinterpret_cast<const char*>(values_.data()), values_.size() * 4}; }
  void refer(const std::string& location, const std::string& offset = "8", const std::string& length = "32") {
    w_->clear_external_data();
    for (const auto& [key, value] :
         {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto& entry = *w_->add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  Model read() {
    write_file_atomically(home_ / "model.onnx", file_.model().SerializeAsString());
    return read_onnx(home_ / "model.onnx");
  }
  std::string error() {
    try {
      read();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  fs::path home_ = folder_ / "home";
  std::vector<float> values_{1, 2, 3, 4, 5, 6, 7, 8};
  File file_;
  onnx::TensorProto* w_ = nullptr;
};

TEST_F(ExternalData, IsRead) {
  refer("weights.bin");
  EXPECT_THAT(read().graph.parameters(), testing::ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  fs::create_directory(home_ / "sub");
  fs::copy(home_ / "weights.bin", home_ / "sub/w.bin");
  refer("sub/w.bin", "8", "");  // without a length it is what the shape needs
  EXPECT_THAT(read().graph.parameters(), testing::ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
}

TEST_F(ExternalData, LiesInTheFileThatIsWritten) {
  refer("weights.bin");
  Model model = read();
  model.graph.parameters()[0] = 0.5f;
  write_onnx(model, folder_ / "alone.onnx");
  fs::remove_all(home_);
  EXPECT_EQ(read_onnx(folder_ / "alone.onnx").graph.parameters(), model.graph.parameters());
  onnx::ModelProto alone;
  ASSERT_TRUE(alone.ParseFromString(read_file(folder_ / "alone.onnx")));
  w_->clear_external_data();
  w_->clear_data_location();
  values_[0] = 0.5f;
  w_->set_raw_data(bytes());
  EXPECT_EQ(alone.SerializeAsString(), file_.model().SerializeAsString());
}

TEST_F(ExternalData, OutsideTheFolderIsNotRead) {
  for (const std::string& location :
       {(folder_ / "secret").string(), std::string("../secret"), std::string("x/../../secret"),
        std::string(".."), std::string("./../secret")}) {
    refer(location);
    EXPECT_THAT(error(),
                AllOf(HasSubstr("tensor 'w'"), HasSubstr("'" + location + "'"), HasSubstr("outside")));
  }
  fs::create_symlink(folder_ / "secret", home_ / "link");
  refer("link");
  EXPECT_THAT(error(), HasSubstr("'link' lies outside"));
  fs::create_directory_symlink(folder_.path(), home_ / "up");
  refer("up/secret");
  EXPECT_THAT(error(), HasSubstr("'up/secret' lies outside"));
  fs::create_directory(folder_ / "home2");  // begins like the folder's name
  fs::copy(folder_ / "secret", folder_ / "home2/secret");
  fs::create_symlink(folder_ / "home2/secret", home_ / "near");
  refer("near");
  EXPECT_THAT(error(), HasSubstr("'near' lies outside"));
  fs::create_symlink(home_ / "weights.bin", home_ / "inside");
  refer("inside");
  EXPECT_EQ(error(), "no error");
}

TEST_F(ExternalData, BadReferencesAreOneClearError) {
  const auto says = [&](const std::string& location, const std::string& offset, const std::string& length,
                        const std::string& text) {
    refer(location, offset, length);
    EXPECT_THAT(error(), AllOf(HasSubstr("model.onnx: tensor 'w'"), HasSubstr(text)));
  };
  says("", "8", "32", "does not name");
  says("absent.bin", "8", "32", "no data file 'absent.bin'");
  says("weights.bin", "-8", "32", "'-8'");
  says("weights.bin", "99999999999999999999999", "32", "no place");
  says("weights.bin", "18446744073709551615", "32", "damaged");
  says("weights.bin", "13", "32", "damaged");
  says("weights.bin", "8", "31", "needs 32 bytes");
  fs::create_directory(home_ / "sub");
  says("sub", "8", "32", "is not a file");
  ASSERT_EQ(::mkfifo((home_ / "pipe").c_str(), 0600), 0);
  says("pipe", "0", "32", "is not a file");
  w_->set_dims(0, 1 << 28);  // refused before that much memory is asked for
  w_->set_dims(1, 1);
  says("weights.bin", "8", "", "damaged");
  w_->set_dims(0, 1 << 30);
  EXPECT_THAT(error(), HasSubstr("more than 2 GB"));
}

TEST_F(ExternalData, NeedsAFolder) {
  refer("weights.bin");
  EXPECT_THROW(from_onnx_bytes(file_.model().SerializeAsString(), "test.onnx"), Error);
}

}  // namespace
}  // namespace lwsvm
