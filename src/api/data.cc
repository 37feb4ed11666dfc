#include "lwsvm/data.h"

#include "api/network_state.h"
#include "base/error.h"
#include "data/dataset.h"
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
