#include "lwsvm/data.h"

#include <cmath>
#include <limits>

#include "api/network_state.h"
#include "base/error.h"
#include "data/dataset.h"
#include "data/sample_axes.h"
#include "run/photo_input.h"

namespace lwsvm {
namespace {

class LoadMessages final : public Messages {
 public:
  explicit LoadMessages(const LoadSettings& settings) : settings_(settings) {}

  void line(std::string_view text) override {
    if (settings_.on_message) settings_.on_message(std::string(text));
  }
  void warn(std::string_view text) override { line("warning: " + std::string(text)); }
  void progress(std::string_view what, std::uint64_t part, std::uint64_t whole) override {
    if (settings_.on_progress)
      settings_.on_progress(std::string(what), static_cast<std::int64_t>(part),
                            static_cast<std::int64_t>(whole));
  }

 private:
  const LoadSettings& settings_;
};

Samples copied(const SampleReader* reader, const ImageShape& shape) {
  if (!reader || reader->size() == 0) return {};
  std::vector<float> values(static_cast<std::size_t>(reader->size() * shape.size()));
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < reader->size(); ++i) {
    reader->read(i, values.data() + i * shape.size());
    labels.push_back(reader->label(i));
  }
  return Samples(shape, std::move(values), std::move(labels));
}

void check_finite(const std::string& source, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      fail("data", "{}: value {} is {}; every pixel must be a finite number", source, i,
           std::isnan(values[i]) ? "not a number" : "infinite or too large for float32");
}

template <typename T>
Samples viewed(const SampleAxes& axes, std::span<const T> pixels, const Data::Array& array) {
  if (!axes.channels_last) return Samples(axes.shape, pixels, array.labels, array.owner);
  std::vector<T> copy(pixels.begin(), pixels.end());
  channels_first(axes.shape, copy);
  return Samples(axes.shape, std::move(copy), array.labels);
}

SampleAxes as_told(std::span<const std::uint64_t> dims, bool channels_last) {
  const auto axis = [&](std::size_t i) { return static_cast<int>(dims[i]); };
  return channels_last ? SampleAxes{{axis(3), axis(1), axis(2)}, true}
                       : SampleAxes{{axis(1), axis(2), axis(3)}, false};
}

// `first` is the axes of the training samples, which those of other parts must have too.
Samples viewed(const Data::Array& array, const std::string& source, std::optional<bool> channels_last,
               std::optional<SampleAxes>& first) {
  if (array.dims.empty() || (array.dims[0] == 0 && first)) return {};
  std::vector<std::uint64_t> dims;
  for (const std::int64_t dim : array.dims)
    dims.push_back(static_cast<std::uint64_t>(std::max(dim, std::int64_t{0})));
  SampleAxes axes = guess_axes("data", source, dims);
  if (channels_last && dims.size() == 4) axes = as_told(dims, *channels_last);
  if (first && (axes.shape != first->shape || axes.channels_last != first->channels_last))
    fail("data", "{}: its samples are {}, those of the training set {}; they must agree", source,
         to_string(axes.shape), to_string(first->shape));
  first = axes;
  if (dims[0] > std::numeric_limits<std::int32_t>::max())
    fail("data", "{}: {} samples are too many; take at most 2147483647", source, dims[0]);
  if (array.labels.size() != dims[0])
    fail("data", "{}: {} labels for {} samples; the two arrays do not belong together", source,
         array.labels.size(), dims[0]);
  if ((array.floats == nullptr) == (array.bytes == nullptr))
    fail("data", "{}: samples are floats or bytes; give a pointer to one of them", source);
  const std::size_t count = static_cast<std::size_t>(axes.shape.size()) * dims[0];
  if (array.bytes) return viewed(axes, std::span(array.bytes, count), array);
  check_finite(source, {array.floats, count});
  return viewed(axes, std::span(array.floats, count), array);
}

}  // namespace

Data Data::load(const std::string& name_or_path, const std::string& data_dir) {
  return Data(std::make_shared<const DataSet>(load_data(name_or_path, data_dir)));
}

Data Data::load(const std::string& name_or_path, const Network& network, const LoadSettings& settings) {
  LoadMessages messages(settings);
  run::RunContext context;
  context.threads = settings.threads;
  context.data_dir = settings.data_dir;
  context.messages = &messages;
  const Model* model = network.empty() ? nullptr : &network.state().model;
  return Data(std::make_shared<const DataSet>(
      load_data(name_or_path, run::load_options(settings.photos, model, context))));
}

Data Data::copy(const Parts& parts) {
  const ImageShape& shape = parts.shape;
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1)
    fail("data", "{}: samples of {} have no pixels; give channels, height and width", parts.name,
         to_string(shape));
  DataSet set = make_data_set("data", parts.name, shape, copied(parts.train, shape),
                              copied(parts.test, shape), parts.classes, copied(parts.validation, shape));
  set.name = parts.name;
  set.class_names = parts.class_names;
  return Data(std::make_shared<const DataSet>(std::move(set)));
}

Data Data::view(const Arrays& arrays) {
  std::optional<SampleAxes> axes;
  Samples train = viewed(arrays.train, arrays.name + ": training samples", arrays.channels_last, axes);
  Samples validation =
      viewed(arrays.validation, arrays.name + ": validation samples", arrays.channels_last, axes);
  Samples test = viewed(arrays.test, arrays.name + ": test samples", arrays.channels_last, axes);
  DataSet set = make_data_set("data", arrays.name, axes ? axes->shape : ImageShape{}, std::move(train),
                              std::move(test), arrays.classes, std::move(validation));
  set.name = arrays.name;
  set.class_names = arrays.class_names;
  return Data(std::make_shared<const DataSet>(std::move(set)));
}

const std::string& Data::name() const {
  return set_->name;
}

const ImageShape& Data::shape() const {
  return set_->shape;
}

int Data::classes() const {
  return set_->classes;
}

std::int64_t Data::train_size() const {
  return static_cast<std::int64_t>(set_->train.size());
}

std::int64_t Data::validation_size() const {
  return static_cast<std::int64_t>(set_->validation.size());
}

std::int64_t Data::test_size() const {
  return static_cast<std::int64_t>(set_->test.size());
}

}  // namespace lwsvm
