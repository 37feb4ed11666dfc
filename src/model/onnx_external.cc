#include "model/onnx_external.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>

#include "base/error.h"
#include "model/onnx_constant.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

// What a tensor says of its data; `where` begins messages: "model.onnx: tensor 'w'".
struct Reference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t parse_size(const std::string& text, const std::string& where) {
  std::uint64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc() || stop != end || text.empty())
    fail("onnx", "{}: '{}' is no place in a data file", where, text);
  return size;
}

Reference reference_of(const onnx::TensorProto& tensor, const std::string& where) {
  Reference reference;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") reference.location = entry.value();
    if (entry.key() == "offset") reference.offset = parse_size(entry.value(), where);
    if (entry.key() == "length") reference.length = parse_size(entry.value(), where);
  }
  if (reference.location.empty())
    fail("onnx", "{}: its data lies in another file that it does not name", where);
  return reference;
}

// The file, which must lie in the model's folder or below it.
fs::path located(const std::string& location, const fs::path& folder, const std::string& where) {
  const auto outside = [&]() {
    fail("onnx", "{}: its data file '{}' lies outside the model's folder; lwsvm reads nothing there", where,
         location);
  };
  const fs::path relative(location);
  if (relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end())
    outside();
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  fs::path path = error ? fs::path() : fs::canonical(folder / relative, error);
  if (error) fail("onnx", "{}: there is no data file '{}' beside the model; get it too", where, location);
  if (std::mismatch(home.begin(), home.end(), path.begin(), path.end()).first != home.end()) outside();
  if (!fs::is_regular_file(path, error))  // a pipe or a device would never end
    fail("onnx", "{}: its data '{}' is not a file", where, location);
  return path;
}

std::string read_part(const fs::path& path, std::uint64_t offset, std::uint64_t bytes,
                      const std::string& where) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error || offset > size || bytes > size - offset)
    fail("onnx", "{}: its data would be bytes {} to {} of {}, which has {}; it is damaged, get it again",
         where, offset, offset + bytes, path.string(), size);
  std::ifstream file(path, std::ios::binary);
  std::string part(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(part.data(), static_cast<std::streamsize>(bytes)))
    fail("onnx", "{}: {} cannot be read", where, path.string());
  return part;
}

}  // namespace

std::uint64_t embed_external_data(const std::vector<onnx::TensorProto*>& tensors, const fs::path& folder,
                                  const std::string& model) {
  constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  std::uint64_t total = 0;
  for (onnx::TensorProto* tensor : tensors) {
    if (tensor->data_location() != onnx::TensorProto::EXTERNAL) continue;
    const std::string where = fmt::format("{}: tensor '{}'", model, tensor->name());
    const Reference reference = reference_of(*tensor, where);
    const fs::path path = located(reference.location, folder, where);
    const std::uint64_t bytes = raw_bytes(*tensor, where);
    if (reference.length && *reference.length != bytes)
      fail("onnx", "{}: its shape needs {} bytes, its data file has {} for it; it is damaged, get it again",
           where, bytes, *reference.length);
    total += bytes;
    if (total > kMaxBytes)
      fail("onnx", "{}: its weights take more than 2 GB, and a file that lwsvm writes holds at most that",
           model);
    tensor->set_raw_data(read_part(path, reference.offset, bytes, where));
    tensor->clear_external_data();
    tensor->clear_data_location();
  }
  return total;
}

}  // namespace lwsvm
