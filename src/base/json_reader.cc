#include "base/json_reader.h"

#include <nlohmann/json.hpp>
#include <string>

namespace lwsvm {
namespace {

// Goes along with a parser and stops it where a value is too deep, or too long for the bytes that there are.
class JsonLimits final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonLimits(std::size_t bytes) : bytes_(bytes) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t members) override { return open(members); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t elements) override { return open(elements); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool open(std::size_t count) {
    constexpr auto unknown = static_cast<std::size_t>(-1);
    return ++depth_ <= kDeepestJson && (count == unknown || count <= bytes_);
  }
  bool close() {
    --depth_;
    return true;
  }

  std::size_t bytes_;
  int depth_ = 0;
};

}  // namespace

nlohmann::ordered_json read_json(std::string_view text) {
  JsonLimits limits(text.size());
  if (!nlohmann::json::sax_parse(text, &limits)) return nlohmann::ordered_json::value_t::discarded;
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

nlohmann::json read_cbor(std::span<const std::uint8_t> bytes) {
  JsonLimits limits(bytes.size());
  if (!nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &limits, nlohmann::json::input_format_t::cbor))
    return nlohmann::json::value_t::discarded;
  return nlohmann::json::from_cbor(bytes.begin(), bytes.end(), /*strict=*/true, /*allow_exceptions=*/false);
}

}  // namespace lwsvm
