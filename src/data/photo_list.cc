#include "data/photo_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/photo_decoders.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPhotoClasses = 65536;  // as dataset.cc has it
constexpr int kMaxDepth = 64;                    // folders within folders

// Which part a folder of this name is for.
std::optional<PhotoPart> part_of(const std::string& name) {
  if (name == "train" || name == "training") return PhotoPart::train;
  if (name == "val" || name == "valid" || name == "validation") return PhotoPart::validation;
  if (name == "test" || name == "testing") return PhotoPart::test;
  return {};
}

// Links are followed; false too where that leads nowhere.
bool is_folder(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> entries;
  fs::directory_iterator at(folder, problem);
  for (; !problem && at != fs::directory_iterator(); at.increment(problem)) entries.push_back(at->path());
  if (problem)
    fail(kPhotoPlace, "{}: the folder cannot be read: {}; check its permissions", folder.string(),
         problem.message());
  std::ranges::sort(entries, {}, [](const fs::path& path) { return path.filename().string(); });
  return entries;
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with(".");
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found = entries_of(folder);
  std::erase_if(found, [](const fs::path& path) { return is_hidden(path) || !is_folder(path); });
  return found;
}

// The part folders of a root that has any for training; else nothing. A class may be called "train", too: a
// part holds folders.
std::vector<std::pair<PhotoPart, fs::path>> part_folders(const fs::path& root) {
  std::vector<std::pair<PhotoPart, fs::path>> parts;
  for (const fs::path& folder : subfolders(root))
    if (const auto part = part_of(folder.filename().string()); part && !subfolders(folder).empty())
      parts.emplace_back(*part, folder);
  std::ranges::stable_sort(parts, {}, [](const auto& entry) { return entry.first; });
  return parts;
}

PhotoFile file_at(const fs::path& path, std::string name, PhotoPart part, std::int32_t label) {
  PhotoFile file{path, std::move(name), part, label, 0, 0, true, ""};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    file.problem = errno == ENOENT  ? "there is no such file, or a link leads nowhere"
                   : errno == ELOOP ? "a link that leads in a circle"
                                    : std::strerror(errno);
  } else {
    file.regular = S_ISREG(status.st_mode);
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.modified = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  }
  return file;
}

// All files below one class's folder, in the order of their names.
class ClassWalk {
 public:
  ClassWalk(const fs::path& root, const fs::path& part_folder, PhotoPart part, std::int32_t label,
            PhotoList& list)
      : root_(root), part_(part), label_(label), list_(list) {
    for (const fs::path& folder : {root, part_folder}) {
      struct stat status {};
      if (::stat(folder.c_str(), &status) == 0) above_.emplace_back(status.st_dev, status.st_ino);
    }
  }

  void walk(const fs::path& folder) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0)
      fail(kPhotoPlace, "{}: the folder cannot be read: {}", folder.string(), std::strerror(errno));
    const std::pair identity{status.st_dev, status.st_ino};
    if (std::ranges::find(above_, identity) != above_.end() || above_.size() > kMaxDepth) {
      list_.notes.push_back(
          fmt::format("{} leads back to a folder above it, and is left out", shown(folder)));
      return;
    }
    above_.push_back(identity);
    for (const fs::path& entry : entries_of(folder)) {
      if (is_folder(entry)) {
        if (!is_hidden(entry)) walk(entry);
      } else {
        list_.files.push_back(file_at(entry, shown(entry), part_, label_));
      }
    }
    above_.pop_back();
  }

 private:
  std::string shown(const fs::path& path) const { return path.lexically_relative(root_).string(); }

  const fs::path& root_;
  PhotoPart part_;
  std::int32_t label_;
  PhotoList& list_;
  std::vector<std::pair<dev_t, ino_t>> above_;  // folders from the root to this one
};

void check_class_count(const std::string& where, std::size_t classes) {
  if (classes > kMaxPhotoClasses)
    fail(kPhotoPlace, "{}: {} classes are more than the {} that lwsvm takes", where, classes,
         kMaxPhotoClasses);
}

// The tutorials call `val` what they test on. Where there is no other test part, that is what it is.
void take_validation_for_test(PhotoList& list, const std::string& where) {
  const auto has = [&](PhotoPart part) {
    return std::ranges::any_of(list.files, [&](const PhotoFile& file) { return file.part == part; });
  };
  if (!has(PhotoPart::validation) || has(PhotoPart::test)) return;
  for (PhotoFile& file : list.files)
    if (file.part == PhotoPart::validation) file.part = PhotoPart::test;
  list.notes.push_back(
      fmt::format("{} has train and val but no test: val is the test part, and validation samples are taken "
                  "from train (--val)",
                  where));
}

void order_files(PhotoList& list) {
  std::ranges::stable_sort(list.files, {},
                           [](const PhotoFile& file) { return std::pair(file.part, file.label); });
}

// One record of a CSV file: fields between commas, quoted where they hold commas, quotes or line ends.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  std::size_t line() const { return line_; }

  // The next record that is not empty; false at the end.
  bool next(std::vector<std::string>& fields) {
    while (!rest_.empty()) {
      fields.assign(1, "");
      ++line_;
      read_record(fields);
      if (fields.size() > 1 || !fields[0].empty()) return true;
    }
    return false;
  }

 private:
  void read_record(std::vector<std::string>& fields) {
    while (!rest_.empty()) {
      const char c = take();
      if (c == '\n') return;
      if (c == '\r' && (rest_.empty() || rest_.front() == '\n')) continue;
      if (c == ',')
        fields.emplace_back();
      else if (c == '"' && fields.back().empty())
        read_quoted(fields.back());
      else
        fields.back() += c;
    }
  }
  void read_quoted(std::string& field) {
    const std::size_t begun = line_;
    while (true) {
      if (rest_.empty()) fail(kPhotoPlace, "{} line {}: a quote is opened and never closed", name_, begun);
      const char c = take();
      if (c == '\n') ++line_;
      if (c != '"') {
        field += c;
      } else if (rest_.starts_with("\"")) {
        field += take();
      } else {
        return;
      }
    }
  }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view rest_;
  std::string name_;
  std::size_t line_ = 0;
};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Class numbers in the order of the numbers, names in that of the alphabet.
std::vector<std::string> ordered_labels(const std::set<std::string>& labels) {
  std::vector<std::string> names(labels.begin(), labels.end());
  if (std::ranges::all_of(names, is_number))
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return std::stol(name); });
  return names;
}

bool is_header(const std::vector<std::string>& fields) {
  static const std::set<std::string> kNames{"path", "file", "filename", "file_name", "image", "photo"};
  std::string first = fields[0];
  std::ranges::transform(first, first.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return kNames.contains(first);
}

}  // namespace

bool is_photo_folder(const fs::path& folder) {
  return !subfolders(folder).empty();
}

PhotoList list_photo_folder(const fs::path& given) {
  const fs::path root = given.has_filename() ? given : given.parent_path();
  const std::string where = root.string();
  std::vector<std::pair<PhotoPart, fs::path>> parts = part_folders(root);
  if (!parts.empty() && parts.front().first != PhotoPart::train)
    fail(kPhotoPlace, "{}: there is {} but no train; for a folder of classes give {} itself", where,
         parts.front().second.filename().string(), parts.front().second.string());
  PhotoList list;
  if (parts.empty()) {
    parts.emplace_back(PhotoPart::train, root);
  } else {
    for (const fs::path& folder : subfolders(root))
      if (std::ranges::none_of(parts, [&](const auto& part) { return part.second == folder; }))
        list.notes.push_back(
            fmt::format("{} is neither train, val nor test, and is left out", folder.string()));
  }
  std::map<std::string, std::int32_t> labels;
  for (const auto& [part, folder] : parts)
    for (const fs::path& of_class : subfolders(folder)) labels.emplace(of_class.filename().string(), 0);
  for (auto& [name, label] : labels) {
    label = static_cast<std::int32_t>(list.class_names.size());
    list.class_names.push_back(name);
  }
  check_class_count(where, labels.size());
  for (const auto& [part, folder] : parts)
    for (const fs::path& of_class : subfolders(folder))
      ClassWalk(root, folder, part, labels.at(of_class.filename().string()), list).walk(of_class);
  take_validation_for_test(list, where);
  order_files(list);
  return list;
}

PhotoList list_photo_csv(const fs::path& file) {
  const std::string where = file.string();
  const std::vector<std::uint8_t> bytes = read_photo_file(file);
  CsvReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
  struct Row {
    std::string path, label;
    PhotoPart part;
  };
  std::vector<Row> rows;
  std::set<std::string> labels;
  std::vector<std::string> fields;
  for (bool first = true; reader.next(fields); first = false) {
    if (first && is_header(fields)) continue;
    if (fields.size() < 2 || fields.size() > 3 || fields[0].empty() || fields[1].empty())
      fail(kPhotoPlace, "{} line {}: expected path,label or path,label,split", where, reader.line());
    const auto part = fields.size() == 3 && !fields[2].empty() ? part_of(fields[2]) : PhotoPart::train;
    if (!part)
      fail(kPhotoPlace, "{} line {}: '{}' is no part of a data set; expected train, val or test", where,
           reader.line(), fields[2]);
    if (fields[0].find('\0') != std::string::npos)
      fail(kPhotoPlace, "{} line {}: a path with a zero byte", where, reader.line());
    labels.insert(fields[1]);
    rows.push_back({fields[0], fields[1], *part});
  }
  if (rows.empty()) fail(kPhotoPlace, "{}: no photo is named in it; expected lines of path,label", where);
  PhotoList list;
  list.class_names = ordered_labels(labels);
  check_class_count(where, labels.size());
  std::map<std::string, std::int32_t> numbers;
  for (const std::string& name : list.class_names)
    numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  for (const Row& row : rows)
    list.files.push_back(file_at(file.parent_path() / row.path, row.path, row.part, numbers.at(row.label)));
  take_validation_for_test(list, where);
  order_files(list);
  return list;
}

}  // namespace lwsvm
