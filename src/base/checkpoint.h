// Checkpoints: named arrays and one JSON value in one file, whole or absent.
//
// Layout, little endian:
//   "LWSVMCKP"  u32 version  u32 sections  u64 bytes of the whole file
//   per section: u8 element type, u32 name length, u64 payload bytes, name, payload
//   u32 CRC-32 of everything before it
// The first section is `meta` as CBOR: unlike JSON text that keeps infinities and NaN, so resuming is exact.
// Every length is held against the file's true size before anything is allocated for it, and nothing is
// believed before the CRC agrees: a truncated or damaged file is an Error, never a crash.
//
// Memory: put() copies a span, moves a vector, and put_view() only points (for state of gigabytes: keep it
// alive until save() returns). load() reads straight into its final place; take() moves out of there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace lwsvm {

class Checkpoint {
 public:
  Checkpoint();
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  // An empty object at first. Include <nlohmann/json.hpp> to use it.
  nlohmann::json& meta() { return *meta_; }
  const nlohmann::json& meta() const { return *meta_; }

  // T is float, double, std::int32_t, std::uint64_t or std::uint8_t. A name is given once.
  template <typename T>
  void put(const std::string& name, std::vector<T> values);
  template <typename T>
  void put(const std::string& name, std::span<const T> values) {
    put(name, std::vector<T>(values.begin(), values.end()));
  }
  template <typename T>
  void put_view(const std::string& name, std::span<const T> values);

  bool has(const std::string& name) const { return sections_.contains(name); }
  std::vector<std::string> names() const;  // in order of the alphabet

  // Throws Error if the name is missing or of another type. The span lives as long as the checkpoint.
  template <typename T>
  std::span<const T> get(const std::string& name) const;
  template <typename T>
  std::span<const T> get(const std::string& name, std::size_t expected_size) const;  // and of another size
  template <typename T>
  std::vector<T> take(const std::string& name);

  std::span<const float> get_floats(const std::string& name) const { return get<float>(name); }

  void save(const std::filesystem::path& path) const;  // atomic
  static Checkpoint load(const std::filesystem::path& path);
  // Only meta(), without reading the gigabytes after it and so without their CRC: for a look, not for
  // resuming.
  static nlohmann::json load_meta(const std::filesystem::path& path);

 private:
  template <typename T>
  struct Array {
    std::vector<T> owned;
    std::span<const T> view;  // of `owned`, or of the caller's memory
  };
  using Section = std::variant<Array<float>, Array<double>, Array<std::int32_t>, Array<std::uint64_t>,
                               Array<std::uint8_t>>;

  void add(const std::string& name, Section section);
  const Section& find(const std::string& name) const;

  std::unique_ptr<nlohmann::json> meta_;
  std::map<std::string, Section> sections_;
};

}  // namespace lwsvm
