// Resize, Upsample, Expand, DepthToSpace, SpaceToDepth: images of another size. All linear.
//
// Position p of an axis of `out` positions, made from one of `in`, lies at x of the original; nearest
// takes the element beside it, linear the two around it.
#include <algorithm>
#include <cmath>

#include "model/onnx_import.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

using Axis = ResizeLayer::Axis;

struct Scaling {
  std::int64_t in = 1, out = 1;
  double scale = 1;
};

double original_position(const NodeImport& node, const std::string& mode, const Scaling& s, std::int64_t p) {
  const auto at = static_cast<double>(p);
  if (mode == "half_pixel") return (at + 0.5) / s.scale - 0.5;
  if (mode == "pytorch_half_pixel") return s.out > 1 ? (at + 0.5) / s.scale - 0.5 : 0;
  if (mode == "align_corners")
    return s.out > 1 ? at * static_cast<double>(s.in - 1) / static_cast<double>(s.out - 1) : 0;
  if (mode == "asymmetric") return at / s.scale;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / s.scale;
  node.fail("Resize with coordinate_transformation_mode '{}' is not supported", mode);
}

std::int64_t nearest_element(const NodeImport& node, const std::string& mode, double x) {
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  if (mode == "round_prefer_floor") return static_cast<std::int64_t>(std::ceil(x - 0.5));
  node.fail("Resize with nearest_mode '{}' is not known", mode);
}

struct Modes {
  bool linear = false;
  std::string coordinates, nearest;
};

Axis resized_axis(const NodeImport& node, const Modes& modes, const Scaling& s) {
  node.charge(s.out * 48);
  Axis axis;
  for (std::int64_t p = 0; p < s.out; ++p) {
    if (s.in == s.out && s.scale == 1) {
      axis.push_back({{p, 1.0f}});
      continue;
    }
    const double x = original_position(node, modes.coordinates, s, p);
    const auto inside = [&](std::int64_t element) { return std::clamp<std::int64_t>(element, 0, s.in - 1); };
    if (!modes.linear) {
      axis.push_back({{inside(nearest_element(node, modes.nearest, x)), 1.0f}});
      continue;
    }
    const double below = std::floor(x);
    const auto element = static_cast<std::int64_t>(below);
    const auto above = static_cast<float>(x - below);
    if (inside(element) == inside(element + 1))
      axis.push_back({{inside(element), 1.0f}});
    else
      axis.push_back({{inside(element), 1.0f - above}, {inside(element + 1), above}});
  }
  return axis;
}

// Of every axis, the batch included: given as sizes, or as factors.
std::vector<Scaling> scalings(const NodeImport& node, const Shape& full, int scales_input, int sizes_input) {
  std::vector<Scaling> all(full.size());
  for (std::size_t k = 0; k < full.size(); ++k) all[k].in = all[k].out = full[k];
  if (sizes_input > 0 && node.has_input(sizes_input)) {
    const std::vector<std::int64_t> sizes = node.sizes(sizes_input);
    if (sizes.size() != full.size()) node.fail("Resize has {} sizes for {} axes", sizes.size(), full.size());
    for (std::size_t k = 0; k < full.size(); ++k) {
      if (full[k] == kBatchSize) {
        if (sizes[k] != kBatchSize && sizes[k] != node.fixed_batch())
          node.fail("Resize would change the number of samples");
        continue;
      }
      if (sizes[k] < 1 || sizes[k] > kLargestValue) node.fail("Resize to {} is not possible", sizes[k]);
      all[k].out = sizes[k];
      all[k].scale = static_cast<double>(sizes[k]) / static_cast<double>(full[k]);
    }
    return all;
  }
  std::vector<float> factors;
  if (node.has_input(scales_input)) factors = node.reals(scales_input).reals;
  if (factors.empty()) factors = node.reals("scales");
  if (factors.size() != full.size())
    node.fail("{} has {} scales for {} axes", node.op(), factors.size(), full.size());
  for (std::size_t k = 0; k < full.size(); ++k) {
    const auto factor = static_cast<double>(factors[k]);
    if (full[k] == kBatchSize) {
      if (factor != 1) node.fail("{} would change the number of samples", node.op());
      continue;
    }
    const double size = std::floor(static_cast<double>(full[k]) * factor);
    if (!(size >= 1 && size <= static_cast<double>(kLargestValue)))
      node.fail("{} by {} is not possible", node.op(), factor);
    if (size != static_cast<double>(full[k]) * factor &&
        node.text("coordinate_transformation_mode", "") == "align_corners")
      node.fail(
          "{} of {} elements by {} with align_corners means different things to different programs; "
          "export the model with sizes instead",
          node.op(), full[k], factor);
    all[k].scale = factor;
    all[k].out = static_cast<std::int64_t>(size);
  }
  return all;
}

void emit_resized(NodeImport& node, const Modes& modes, std::vector<Scaling> all) {
  if (const int batch = node.batch_axis(0); batch >= 0) all.erase(all.begin() + batch);
  std::vector<Axis> axes;
  axes.reserve(all.size());
  for (const Scaling& s : all) axes.push_back(resized_axis(node, modes, s));
  node.emit([&] { return std::make_shared<ResizeLayer>(axes); }, {node.tensor(0)});
}

bool is_linear(const NodeImport& node) {
  const std::string mode = node.text("mode", "nearest");
  if (mode == "nearest") return false;
  if (mode != "linear" && mode != "bilinear") node.fail("{} in mode '{}' is not supported", node.op(), mode);
  return true;
}

// Up to opset 10 there are only scales, and one way to read them.
void import_resize(NodeImport& node) {
  node.expect_inputs(1, 4);
  const bool old = node.opset() < 11;
  Modes modes{is_linear(node), node.text("coordinate_transformation_mode", "half_pixel"),
              node.text("nearest_mode", "round_prefer_floor")};
  if (old) modes.coordinates = "asymmetric", modes.nearest = "floor";
  if (node.has("axes")) node.fail("Resize of some axes only (opset 18) is not supported");
  emit_resized(node, modes, scalings(node, node.full_shape(0), old ? 1 : 2, old ? -1 : 3));
}

void import_upsample(NodeImport& node) {
  node.expect_inputs(1, 2);
  const Modes modes{is_linear(node), "asymmetric", "floor"};
  emit_resized(node, modes, scalings(node, node.full_shape(0), 1, -1));
}

// To a shape whose sizes of 1 leave the value as it is.
void import_expand(NodeImport& node) {
  node.expect_inputs(2, 2);
  Shape asked = node.sizes(1), full = node.full_shape(0);
  if (asked.size() > full.size() && node.batch_axis(0) >= 0)
    node.fail("Expand would put axes in front of the batch");
  full.insert(full.begin(), asked.size() > full.size() ? asked.size() - full.size() : 0, 1);
  asked.insert(asked.begin(), full.size() - asked.size(), 1);
  Shape from, to;
  for (std::size_t k = 0; k < full.size(); ++k) {
    if (full[k] == kBatchSize) {
      if (asked[k] != 1 && asked[k] != kBatchSize && asked[k] != node.fixed_batch())
        node.fail("Expand would change the number of samples");
      continue;
    }
    if (asked[k] == kBatchSize) node.fail("Expand would repeat a value for every sample of the batch");
    if (asked[k] < 1 || (asked[k] != 1 && full[k] != 1 && asked[k] != full[k]))
      node.fail("Expand of {} to {} is not possible", to_string(node.shape(0)), to_string(node.sizes(1)));
    from.push_back(full[k]);
    to.push_back(std::max(asked[k], full[k]));
  }
  node.emit_node(add_repeated(node, node.tensor(0), node.shape(0), from, to), node.batch_axis(0));
}

int add_moved(NodeImport& node, const Shape& apart, const std::vector<std::int64_t>& order,
              const Shape& joined) {
  const int split =
      node.add([&] { return std::make_shared<ReshapeLayer>(apart); }, {node.tensor(0)}, {}, "/apart");
  const int moved = node.add([&] { return std::make_shared<TransposeLayer>(order); }, {split}, {}, "/moved");
  return node.add([&] { return std::make_shared<ReshapeLayer>(joined); }, {moved});
}

std::int64_t block_size(const NodeImport& node) {
  node.expect_batch_first(0);
  const std::int64_t b = node.integer("blocksize", 0);
  if (b < 1 || b > kLargestAttribute || node.shape(0).size() != 3)
    node.fail("{} of {} with blocks of {} is not possible", node.op(), to_string(node.shape(0)), b);
  return b;
}

void import_depth_to_space(NodeImport& node) {
  const std::int64_t b = block_size(node);
  const Shape in = node.shape(0);
  if (in[0] % (b * b) != 0) node.fail("DepthToSpace of {} channels in blocks of {}", in[0], b);
  const std::int64_t channels = in[0] / (b * b);
  const Shape joined{channels, in[1] * b, in[2] * b};
  const bool depth_first = node.text("mode", "DCR") == "DCR";
  node.emit_node(depth_first ? add_moved(node, {b, b, channels, in[1], in[2]}, {2, 3, 0, 4, 1}, joined)
                             : add_moved(node, {channels, b, b, in[1], in[2]}, {0, 3, 1, 4, 2}, joined),
                 0);
}

void import_space_to_depth(NodeImport& node) {
  const std::int64_t b = block_size(node);
  const Shape in = node.shape(0);
  if (in[1] % b != 0 || in[2] % b != 0) node.fail("SpaceToDepth of {} in blocks of {}", to_string(in), b);
  node.emit_node(add_moved(node, {in[0], in[1] / b, b, in[2] / b, b}, {2, 4, 0, 1, 3},
                           {in[0] * b * b, in[1] / b, in[2] / b}),
                 0);
}

constexpr OperatorImporter kResize[] = {
    {"DepthToSpace", import_depth_to_space}, {"Expand", import_expand},     {"Resize", import_resize},
    {"SpaceToDepth", import_space_to_depth}, {"Upsample", import_upsample},
};

}  // namespace

int add_repeated(NodeImport& node, int value, const Shape& shape, const Shape& from, const Shape& to) {
  if (!checked_count(to, kLargestValue)) node.fail("its output {} is too large", to_string(to));
  if (shape != from)
    value = node.add([&] { return std::make_shared<ReshapeLayer>(from); }, {value}, {}, "/axes");
  if (from == to) return value;
  for (std::int64_t size : to) node.charge(size * 48);
  return node.add([&] { return std::make_shared<ResizeLayer>(ResizeLayer::repeating(from, to)); }, {value},
                  {}, "/repeated");
}

std::span<const OperatorImporter> resize_importers() {
  return kResize;
}

}  // namespace lwsvm
