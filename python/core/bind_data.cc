#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "lwsvm/data.h"
#include "lwsvm/model.h"
#include "lwsvm/samples.h"

namespace lwsvm::python {
namespace {

// (samples, labels), both as plain arrays; None: no such part. The samples stay where they are.
Data::Array to_part(const py::object& pair) {
  Data::Array part;
  if (pair.is_none()) return part;
  const auto [samples, labels] = pair.cast<std::pair<py::object, py::object>>();
  const auto look_at = [&, &samples = samples](const auto& array) {
    part.dims.assign(array.shape(), array.shape() + array.ndim());
    part.owner = owner_of(samples);
    return array.data();
  };
  if (py::isinstance<py::array_t<std::uint8_t>>(samples))
    part.bytes = look_at(plain_array<std::uint8_t>(samples, "samples"));
  else
    part.floats = look_at(plain_array<float>(samples, "samples"));
  part.labels = to_vector<std::int32_t>(labels, "labels");
  return part;
}

Data view(const py::object& train, const py::object& validation, const py::object& test, int classes,
          std::optional<bool> channels_last, std::vector<std::string> class_names, std::string name) {
  const Data::Arrays arrays{.classes = classes,
                            .train = to_part(train),
                            .validation = to_part(validation),
                            .test = to_part(test),
                            .channels_last = channels_last,
                            .class_names = std::move(class_names),
                            .name = std::move(name)};
  const py::gil_scoped_release release;
  return Data::view(arrays);
}

// The data, and what there was to say of them. `network` null: they are for none yet. Sizes of 0: by the
// network.
std::pair<Data, std::vector<std::string>> load(const std::string& name_or_path, const std::string& data_dir,
                                               const Network* network, int resize, std::pair<int, int> crop,
                                               bool stretch, bool skip_bad) {
  std::vector<std::string> messages;
  LoadSettings settings;
  settings.data_dir = data_dir;
  settings.photos.short_side = resize;
  settings.photos.crop_height = crop.first;
  settings.photos.crop_width = crop.second;
  settings.photos.stretch = stretch;
  settings.photos.skip_bad = skip_bad;
  settings.on_message = [&](const std::string& text) { messages.push_back(text); };
  std::optional<Data> data;
  Call call;
  call.run([&] { data = Data::load(name_or_path, network ? *network : Network(), settings); });
  return {std::move(*data), std::move(messages)};
}

// (samples, labels): N x C x H x W, bytes where they are.
py::tuple copied(const Data& data, const std::string& part) {
  SampleCopy copy;
  {
    const py::gil_scoped_release release;
    copy = copy_samples(data, part);
  }
  const auto count = static_cast<py::ssize_t>(copy.labels.size());
  py::object values =
      to_array(std::move(copy.values), {count, copy.shape.channels, copy.shape.height, copy.shape.width});
  if (copy.bytes) values = values.attr("astype")("uint8");
  return py::make_tuple(std::move(values), to_array(std::move(copy.labels), {count}));
}

}  // namespace

void bind_data(py::module_& module) {
  py::class_<Data>(module, "Data")
      .def_static("load", load, py::arg("name_or_path"), py::arg("data_dir") = "",
                  py::arg("network").none(true) = py::none(), py::arg("resize") = 0,
                  py::arg("crop") = std::pair(0, 0), py::arg("stretch") = false, py::arg("skip_bad") = false)
      .def_static("view", view, py::arg("train"), py::arg("validation") = py::none(),
                  py::arg("test") = py::none(), py::arg("classes") = 0, py::arg("channels_last") = py::none(),
                  py::arg("class_names") = std::vector<std::string>(), py::arg("name") = "samples")
      .def("samples", copied, py::arg("part") = "train")
      .def("name", &Data::name)
      .def("shape",
           [](const Data& data) {
             const ImageShape& shape = data.shape();
             return std::tuple(shape.channels, shape.height, shape.width);
           })
      .def("classes", &Data::classes)
      .def("train_size", &Data::train_size)
      .def("validation_size", &Data::validation_size)
      .def("test_size", &Data::test_size);
}

}  // namespace lwsvm::python
