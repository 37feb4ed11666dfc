// Images with labels: a known data set, a file, or samples of the caller's own.
//
//   Data fashion = Data::load("fashion-mnist");
//   Data mine = Data::copy({.shape = {1, 8, 8}, .classes = 3, .train = &my_samples});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lwsvm {

struct DataSet;
class Network;

struct ImageShape {
  int channels = 0, height = 0, width = 0;

  std::int64_t size() const { return std::int64_t{channels} * height * width; }
  bool operator==(const ImageShape&) const = default;
};

// How photos become samples: the short side is brought to `short_side`, then the centre is cut out, both as
// torchvision does it.
struct PhotoSettings {
  int short_side = 0;                   // 0: 256/224 times the longer side of the crop
  int crop_height = 0, crop_width = 0;  // 0: what the network takes, or 224 x 224
  int channels = 0;                     // 3, or 1 for grey; 0: what the network takes, or 3
  bool stretch = false;                 // to the size of the crop instead, whatever the ratio of the sides
  bool skip_bad = false;                // leave damaged photos out; else they are an Error
  std::string cache{};                  // folder for decoded photos; empty: the XDG cache folder
  std::uint64_t cache_limit = std::uint64_t{20} << 30;  // bytes; 0: no cache
};

void set_crop(PhotoSettings& photos, const std::string& text);  // "224", or "192x256": height x width

// The caller's own samples, numbered from 0.
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  virtual std::int64_t size() const = 0;
  virtual int label(std::int64_t index) const = 0;  // 0 to classes - 1
  // Writes channels x height x width numbers, one channel after the other.
  virtual void read(std::int64_t index, float* values) const = 0;
};

struct LoadSettings {
  std::string data_dir{};  // where known data sets lie
  PhotoSettings photos{};
  int threads = 0;                                       // that decode photos; 0: all cores
  std::function<void(const std::string&)> on_message{};  // what a person should know
  std::function<void(const std::string& what, std::int64_t done, std::int64_t total)> on_progress{};
};

// A handle: copies share their samples.
class Data {
 public:
  // fashion-mnist, mnist, cifar10, cifar100, synthetic[:options], or a path: a folder of IDX files or CIFAR
  // batches, an .npz; photos (ROOT/CLASS/*, ROOT/{train,val,test}/CLASS/*, or a .csv of path,label), which
  // become 3 x 224 x 224. Known data sets are looked for in `data_dir` and in the cache folder.
  static Data load(const std::string& name_or_path, const std::string& data_dir = "");

  // The same for a network: photos become what it takes, as it was trained if its file says that; classes of
  // photos are numbered by its class names, where it has them. It may be empty.
  static Data load(const std::string& name_or_path, const Network& network,
                   const LoadSettings& settings = {});

  struct Parts {
    ImageShape shape{};
    int classes = 0;                           // 0: the largest label plus one
    const SampleReader* train = nullptr;       // needed
    const SampleReader* validation = nullptr;  // null: split from `train`
    const SampleReader* test = nullptr;        // null: none
    std::vector<std::string> class_names{};
    std::string name = "samples";  // a network remembers it, and its split into training and validation
  };
  static Data copy(const Parts& parts);  // every sample is read once

  // Samples that lie in memory one after the other, row-major.
  struct Array {
    std::vector<std::int64_t>
        dims{};  // N x features, N x H x W, N x C x H x W or N x H x W x C; empty: no samples
    const float* floats = nullptr;  // one of the two; floats must be finite
    const std::uint8_t* bytes = nullptr;
    std::vector<std::int32_t> labels{};   // 0 to classes - 1
    std::shared_ptr<const void> owner{};  // of the numbers: kept for as long as they are looked at
  };
  struct Arrays {
    int classes = 0;  // 0: the largest label plus one
    Array train{};    // needed
    Array validation{}, test{};
    std::optional<bool>
        channels_last{};  // of four axes; absent: the one with 1, 3 or 4 entries holds the channels
    std::vector<std::string> class_names{};
    std::string name = "samples";
  };
  // The numbers are read where they are and must not change meanwhile; only N x H x W x C is copied, into the
  // order of its channels.
  static Data view(const Arrays& arrays);

  const std::string& name() const;
  const ImageShape& shape() const;
  int classes() const;
  std::int64_t train_size() const;       // before any are taken for validation
  std::int64_t validation_size() const;  // of a validation part that comes with the data
  std::int64_t test_size() const;

  const std::shared_ptr<const DataSet>& set() const { return set_; }  // for the library itself

 private:
  explicit Data(std::shared_ptr<const DataSet> set) : set_(std::move(set)) {}

  std::shared_ptr<const DataSet> set_;
};

// What a network is asked to do with the data.
struct TaskSettings {
  // Taken from the training set: a count ("5000") or a fraction ("0.1"). Empty: as the network was trained,
  // else 10000 for the MNISTs, 5000 for the CIFARs, otherwise a tenth.
  std::string validation{};
  std::optional<std::uint64_t> split_seed{};  // absent: as the network was trained, else 0
  std::vector<float> margins{};               // classes x classes, row = predicted, column = true; empty: 0-1
  std::string augment{};  // copies that join the training part: "flip", "shift2", "flip,shift2"
};

// TaskSettings::margins from a CSV file: a line per row, numbers with commas between them. Throws Error.
std::vector<float> load_margins(const std::string& path, int classes);

// How pixels become the network's input:  (x / scale - mean) / deviation. If nothing is given: as the network
// remembers; for a network of another program that does not, as trying the known ways shows.
struct PixelSettings {
  std::string name{};  // 0-255, 0-1, -1..1, mnist, fashion-mnist, imagenet, cifar; or the numbers:
  std::optional<double> scale{};
  std::vector<double> mean{}, deviation{};  // one number, or one per channel
  bool per_pixel = false;                   // for new networks: of each pixel over the training part
  bool anyway = false;                      // go on where trying does not tell
};

}  // namespace lwsvm
