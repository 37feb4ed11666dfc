#include "data/npz.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/sample_axes.h"
#include "data/zip.h"

static_assert(std::endian::native == std::endian::little, "arrays are read as they lie in memory");

namespace lwsvm {
namespace {

constexpr const char* kNpzPlace = "npz";

struct NpyHeader {
  std::string type;  // "u1", "f4", ...
  std::vector<std::uint64_t> dims;
  std::uint64_t count = 1;
};

// One array of the archive: where messages say it is, its header, and its values still to be read.
struct Array {
  Array(const ZipArchive& archive, const ZipMember& member, std::string name)
      : source(fmt::format("{}: {}", archive.path(), name)), reader(archive, member) {}
  std::string source;
  ZipReader reader;
  NpyHeader header;
};

std::string_view after_key(const std::string& source, std::string_view dict, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    const std::size_t at = dict.find(quoted);
    if (at == std::string_view::npos) continue;
    std::string_view rest = dict.substr(at + quoted.size());
    const std::size_t start = rest.find_first_not_of(" :");
    if (start != std::string_view::npos) return rest.substr(start);
  }
  fail(kNpzPlace, "{}: its header has no '{}'; save it with numpy.savez", source, key);
}

std::string parse_type(const std::string& source, std::string_view text) {
  const std::size_t end = text.size() < 2 ? std::string_view::npos : text.find_first_of("'\"", 1);
  if (end == std::string_view::npos || (text[0] != '\'' && text[0] != '"') || end < 3) {
    fail(kNpzPlace, "{}: structured or unknown type; save plain numbers, such as x.astype('float32')",
         source);
  }
  const std::string_view type = text.substr(1, end - 1);
  if (type[0] == '>')
    fail(kNpzPlace, "{}: big-endian numbers; save x.astype(x.dtype.newbyteorder('<'))", source);
  static constexpr std::array<std::string_view, 11> kKnown = {"u1", "i1", "b1", "u2", "i2", "u4",
                                                              "i4", "u8", "i8", "f4", "f8"};
  const std::string_view plain = type.substr(1);
  if (std::find(kKnown.begin(), kKnown.end(), plain) == kKnown.end()) {
    fail(kNpzPlace, "{}: values of type '{}' are not read; save uint8, float32 or integers", source, type);
  }
  return std::string(plain);
}

std::vector<std::uint64_t> parse_shape(const std::string& source, std::string_view text) {
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos)
    fail(kNpzPlace, "{}: its shape is damaged", source);
  std::string_view rest = text.substr(1, close - 1);
  std::vector<std::uint64_t> dims;
  while (true) {
    const std::size_t digit = rest.find_first_not_of(", ");
    if (digit == std::string_view::npos) return dims;
    rest.remove_prefix(digit);
    std::uint64_t dim = 0;
    const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (result.ec != std::errc()) fail(kNpzPlace, "{}: its shape is damaged", source);
    rest.remove_prefix(static_cast<std::size_t>(result.ptr - rest.data()));
    dims.push_back(dim);
  }
}

void read_header(Array& array) {
  std::array<std::uint8_t, 12> start{};
  array.reader.read(start.data(), 10);
  if (std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
    fail(kNpzPlace, "{}: not an array saved by numpy", array.source);
  std::uint64_t length = start[8] | start[9] << 8;
  if (start[6] >= 2) {  // versions 2 and 3 have a length of four bytes
    array.reader.read(start.data() + 10, 2);
    length |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
  }
  if (length > 65536) fail(kNpzPlace, "{}: a header of {} bytes; save plain numbers", array.source, length);
  std::string dict(length, '\0');
  array.reader.read(dict.data(), dict.size());

  NpyHeader& header = array.header;
  header.type = parse_type(array.source, after_key(array.source, dict, "descr"));
  if (!after_key(array.source, dict, "fortran_order").starts_with("False")) {
    fail(kNpzPlace, "{}: stored in Fortran order; save numpy.ascontiguousarray(x)", array.source);
  }
  header.dims = parse_shape(array.source, after_key(array.source, dict, "shape"));
  const std::uint64_t item = static_cast<std::uint64_t>(header.type[1] - '0');
  const bool empty = std::find(header.dims.begin(), header.dims.end(), 0u) != header.dims.end();
  for (const std::uint64_t dim : header.dims) {
    if (!empty && header.count > array.reader.left() / dim) {
      fail(kNpzPlace, "{}: its shape claims more values than the file holds; save it again", array.source);
    }
    header.count *= dim;
  }
  if (empty) header.count = 0;  // and not what the product overflowed to
  if (header.count > array.reader.left() / item || header.count * item != array.reader.left()) {
    fail(kNpzPlace, "{}: {} bytes of values do not agree with its shape; save it again", array.source,
         array.reader.left());
  }
}

// All values of an array of type From, each through `convert`. In steps, so that memory grows with what
// really arrives.
template <typename To, typename From, typename Convert>
std::vector<To> read_as(Array& array, Convert&& convert) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  std::vector<To> values;
  values.reserve(array.header.count);
  std::vector<From> part(static_cast<std::size_t>(std::min(kStep, array.header.count)));
  while (values.size() < array.header.count) {
    const auto step = static_cast<std::size_t>(std::min(kStep, array.header.count - values.size()));
    array.reader.read(part.data(), step * sizeof(From));
    for (std::size_t i = 0; i < step; ++i) values.push_back(convert(part[i], values.size()));
  }
  return values;
}

template <typename To, typename Convert>
std::vector<To> read_integers(Array& array, Convert&& convert) {
  const std::string& type = array.header.type;
  if (type == "u1" || type == "b1") return read_as<To, std::uint8_t>(array, convert);
  if (type == "i1") return read_as<To, std::int8_t>(array, convert);
  if (type == "u2") return read_as<To, std::uint16_t>(array, convert);
  if (type == "i2") return read_as<To, std::int16_t>(array, convert);
  if (type == "u4") return read_as<To, std::uint32_t>(array, convert);
  if (type == "i4") return read_as<To, std::int32_t>(array, convert);
  if (type == "u8") return read_as<To, std::uint64_t>(array, convert);
  return read_as<To, std::int64_t>(array, convert);
}

std::vector<float> read_floats(Array& array) {
  const auto finite = [&](auto value, std::size_t index) {
    const auto x = static_cast<float>(value);
    if (!std::isfinite(x)) {
      fail(kNpzPlace, "{}: value {} is {}; every pixel must be a finite number", array.source, index,
           std::isnan(x) ? "not a number" : "infinite or too large for float32");
    }
    return x;
  };
  if (array.header.type == "f4") return read_as<float, float>(array, finite);
  if (array.header.type == "f8") {
    // Out of float's range the conversion is undefined, so it is checked before.
    return read_as<float, double>(array, [&](double value, std::size_t index) {
      const bool fits = std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
      return finite(fits || std::isnan(value) ? value : std::numeric_limits<double>::infinity(), index);
    });
  }
  return read_integers<float>(array, [](auto value, std::size_t) { return static_cast<float>(value); });
}

std::vector<std::int32_t> read_labels(Array& array) {
  const auto& dims = array.header.dims;
  if (array.header.type[0] == 'f') {
    fail(kNpzPlace, "{}: labels are class numbers, not floats; save y.astype('int64')", array.source);
  }
  if (dims.empty() || dims.size() > 2 || (dims.size() == 2 && dims[1] != 1)) {
    fail(kNpzPlace, "{}: expected one class number per sample; save y.argmax(axis=1) for one-hot labels",
         array.source);
  }
  return read_integers<std::int32_t>(array, [&](auto value, std::size_t index) {
    if (!std::in_range<std::int32_t>(value) || value < 0) {
      fail(kNpzPlace, "{}: label {} of sample {} is out of range; labels are 0, 1, 2, ...", array.source,
           +value, index);
    }
    return static_cast<std::int32_t>(value);
  });
}

// Null if the archive has no such array.
std::unique_ptr<Array> open_array(const ZipArchive& archive, const std::string& name) {
  const ZipMember* member = archive.find(name + ".npy");
  if (member == nullptr) return nullptr;
  auto array = std::make_unique<Array>(archive, *member, name);
  read_header(*array);
  return array;
}

Samples read_samples(Array& x, Array& y, const SampleAxes& axes) {
  if (y.header.dims.empty() || y.header.dims[0] != x.header.dims[0]) {
    fail(kNpzPlace, "{}: {} labels for {} samples; the two arrays do not belong together", y.source,
         y.header.count, x.header.dims[0]);
  }
  std::vector<std::int32_t> labels = read_labels(y);
  const auto finish = [&](auto pixels) {
    if (axes.channels_last) channels_first(axes.shape, pixels);
    return Samples(axes.shape, std::move(pixels), std::move(labels));
  };
  if (x.header.type != "u1") return finish(read_floats(x));
  return finish(
      read_as<std::uint8_t, std::uint8_t>(x, [](std::uint8_t value, std::size_t) { return value; }));
}

}  // namespace

bool is_npz(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return std::memcmp(start.data(), "PK\3\4", 4) == 0;
}

namespace {

// The arrays x_PART and y_PART, both or neither, with samples like those of x_train. No samples are as good
// as none.
Samples read_part(const ZipArchive& archive, const std::string& part, const Array& x_train,
                  const SampleAxes& axes) {
  const auto x = open_array(archive, "x_" + part), y = open_array(archive, "y_" + part);
  if ((x == nullptr) != (y == nullptr)) {
    fail(kNpzPlace, "{}: x_{} and y_{} belong together; add {}_{} or remove the other", archive.path(), part,
         part, x ? "y" : "x", part);
  }
  if (!x || x->header.dims.empty() || x->header.dims[0] == 0) return {};
  auto dims = x->header.dims;
  dims[0] = x_train.header.dims[0];
  if (dims != x_train.header.dims)
    fail(kNpzPlace, "{}: its samples have another shape than those of x_train; they must agree", x->source);
  return read_samples(*x, *y, axes);
}

}  // namespace

DataSet load_npz(const std::filesystem::path& path) {
  const ZipArchive archive(path);
  const auto x_train = open_array(archive, "x_train"), y_train = open_array(archive, "y_train");
  if (!x_train || !y_train) {
    fail(kNpzPlace,
         "{}: there is no {}; expected x_train, y_train and, if you like, x_val, y_val, x_test, y_test",
         archive.path(), x_train ? "y_train" : "x_train");
  }
  const SampleAxes axes = guess_axes(kNpzPlace, x_train->source, x_train->header.dims);
  Samples train = read_samples(*x_train, *y_train, axes);
  return make_data_set(kNpzPlace, path, axes.shape, std::move(train),
                       read_part(archive, "test", *x_train, axes), 0,
                       read_part(archive, "val", *x_train, axes));
}

}  // namespace lwsvm
