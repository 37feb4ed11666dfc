// Transpose, Squeeze, Unsqueeze, Concat, Split, Slice, ReduceMean, ReduceSum, ReduceMax, ReduceMin, Softmax,
// LogSoftmax, ArgMax: operators that name axes.
//
// Reductions and softmax work on the last axis here: others are moved there, and back.
#include <algorithm>
#include <numeric>

#include "model/onnx_import.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"
#include "net/layers/softmax_layer.h"

namespace lwsvm {
namespace {

using Integers = std::vector<std::int64_t>;

// Up to opset 12 the axes are an attribute, then an input.
Integers given_axes(const NodeImport& node) {
  return node.has_input(1) ? node.integers(1) : node.integers("axes", {});
}

Integers sorted_axes(const NodeImport& node, const Integers& given, std::int64_t rank) {
  Integers axes;
  for (std::int64_t axis : given) axes.push_back(node.axis(axis, rank));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    node.fail("{} names an axis twice", node.op());
  return axes;
}

int add_reshape(NodeImport& node, int value, const Shape& from, const Shape& to) {
  return from == to ? value : node.add([&] { return std::make_shared<ReshapeLayer>(to); }, {value});
}

int add_transpose(NodeImport& node, int value, const Integers& order) {
  if (std::is_sorted(order.begin(), order.end())) return value;
  return node.add([&] { return std::make_shared<TransposeLayer>(order); }, {value});
}

void import_transpose(NodeImport& node) {
  const std::int64_t batch = node.batch_axis(0);
  Integers sample_order;
  int batch_axis = -1, at = 0;
  for (std::size_t axis : transpose_order(node, static_cast<std::size_t>(node.rank(0)))) {
    const auto from = static_cast<std::int64_t>(axis);
    if (from == batch)
      batch_axis = at;
    else
      sample_order.push_back(batch >= 0 && from > batch ? from - 1 : from);
    ++at;
  }
  node.emit_node(add_transpose(node, node.tensor(0), sample_order), batch_axis);
}

void import_squeeze(NodeImport& node) {
  const Shape full = node.full_shape(0);
  const std::vector<bool> drop = squeezed_axes(node, full);
  Shape sample;
  int batch_axis = -1, at = 0;
  for (std::size_t k = 0; k < full.size(); ++k) {
    if (drop[k]) continue;
    if (full[k] == kBatchSize)
      batch_axis = at;
    else
      sample.push_back(full[k]);
    ++at;
  }
  node.emit_node(add_reshape(node, node.tensor(0), node.shape(0), sample), batch_axis);
}

void import_unsqueeze(NodeImport& node) {
  Shape full = node.full_shape(0);
  for (std::int64_t axis : unsqueezed_axes(node, node.rank(0))) full.insert(full.begin() + axis, 1);
  auto batch = std::find(full.begin(), full.end(), kBatchSize);
  if (batch == full.end() && full[0] == 1) batch = full.begin();  // the batch of one that was squeezed away
  const int batch_axis = batch == full.end() ? -1 : static_cast<int>(batch - full.begin());
  if (batch_axis >= 0) full.erase(batch);
  node.emit_node(add_reshape(node, node.tensor(0), node.shape(0), full), batch_axis);
}

void import_concat(NodeImport& node) {
  node.expect_inputs(1, 1 << 20);
  for (int i = 1; i < node.inputs(); ++i)
    if (node.batch_axis(i) != node.batch_axis(0)) node.fail("Concat of values whose batches lie differently");
  const std::size_t axis = node.sample_axis(0, node.integer("axis", 1));
  node.emit([&] { return std::make_shared<ConcatLayer>(static_cast<std::int64_t>(axis)); }, node.tensors());
}

// Sizes from input 1 or the attribute, or equal parts.
void import_split(NodeImport& node) {
  node.expect_inputs(1, 2);
  const Shape in = node.shape(0);
  const std::size_t axis = node.sample_axis(0, node.integer("axis", 0));
  Integers parts = node.has_input(1) ? node.integers(1) : node.integers("split", {});
  const std::int64_t outputs = std::max(1, node.outputs());
  if (parts.empty()) {
    const bool uneven = node.has("num_outputs");  // from opset 18 on the last part may be smaller
    if (in[axis] % outputs != 0 && !uneven) node.fail("Split of {} into {} equal parts", in[axis], outputs);
    const std::int64_t part = (in[axis] + outputs - 1) / outputs;
    parts.assign(static_cast<std::size_t>(outputs), part);
    parts.back() = in[axis] - part * (outputs - 1);
  }
  if (std::ssize(parts) != node.outputs())
    node.fail("Split into {} parts has {} outputs", parts.size(), outputs);
  std::int64_t left = in[axis];
  Shape start(in.size(), 0), count = in;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k] < 1 || parts[k] > left)
      node.fail("Split of {} into parts of {}", in[axis], fmt::join(parts, ", "));
    count[axis] = parts[k];
    if (node.has_output(static_cast<int>(k))) {
      const int part = node.add(
          [&] { return std::make_shared<SliceLayer>(start, Shape(in.size(), 1), count); }, {node.tensor(0)});
      node.emit_node(part, node.batch_axis(0), static_cast<int>(k));
    }
    start[axis] += parts[k];
    left -= parts[k];
  }
  if (left != 0) node.fail("Split leaves {} of {} elements", left, in[axis]);
}

void import_slice(NodeImport& node) {
  const Shape full = node.full_shape(0);
  SliceRange range = read_slice(node, full);
  for (std::size_t k = 0; k < full.size(); ++k)
    if (range.count[k] == 0) node.fail("Slice takes nothing of {} elements", full[k]);
  if (const int batch = node.batch_axis(0); batch >= 0)
    for (Shape* part : {&range.start, &range.step, &range.count}) part->erase(part->begin() + batch);
  node.emit([&] { return std::make_shared<SliceLayer>(range.start, range.step, range.count); },
            {node.tensor(0)});
}

// A value with some axes of its samples moved to the end and made one.
struct LastAxis {
  int value = -1;
  Shape outer, inner;  // the sizes of the others, and of those that were moved
  Integers order;      // of the axes, as they lie now
};

LastAxis to_last_axis(NodeImport& node, const std::vector<std::size_t>& axes) {
  const Shape& in = node.shape(0);
  LastAxis last;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (std::find(axes.begin(), axes.end(), k) != axes.end()) continue;
    last.order.push_back(static_cast<std::int64_t>(k));
    last.outer.push_back(in[k]);
  }
  for (std::size_t axis : axes) {
    last.order.push_back(static_cast<std::int64_t>(axis));
    last.inner.push_back(in[axis]);
  }
  last.value = node.tensor(0);
  const std::int64_t rows = element_count(last.outer), size = element_count(last.inner);
  if (rows == 1) {  // scores, whatever axes of one surround them
    last.value = add_reshape(node, last.value, node.shape(0), {size});
    return last;
  }
  last.value = add_transpose(node, last.value, last.order);
  Shape joined = last.outer, apart = last.outer;
  joined.push_back(size);
  apart.insert(apart.end(), last.inner.begin(), last.inner.end());
  last.value = add_reshape(node, last.value, apart, joined);
  return last;
}

// Where the axes that were moved lie among those that stayed.
Integers back_order(const Integers& order) {
  Integers back(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return back;
}

int from_last_axis(NodeImport& node, const LastAxis& last, int value, const Shape& inner) {
  Shape joined = last.outer, apart = last.outer;
  if (element_count(last.outer) == 1) joined.clear();
  joined.push_back(element_count(inner));
  apart.insert(apart.end(), inner.begin(), inner.end());
  const Shape result = [&] {
    Shape shape;
    for (std::int64_t axis : back_order(last.order)) shape.push_back(apart[static_cast<std::size_t>(axis)]);
    return shape;
  }();
  if (element_count(last.outer) == 1) return add_reshape(node, value, joined, result);
  value = add_reshape(node, value, joined, apart);
  return add_transpose(node, value, back_order(last.order));
}

// Over the batch only where it is one sample: then there is nothing to do for it.
struct Reduced {
  std::vector<std::size_t> axes;  // of the sample
  bool batch = false;
};

Reduced reduced_axes(const NodeImport& node, Integers given) {
  Reduced reduced;
  const std::int64_t rank = node.rank(0), batch = node.batch_axis(0);
  if (given.empty()) {
    given.resize(static_cast<std::size_t>(rank));
    std::iota(given.begin(), given.end(), std::int64_t{0});
  }
  for (std::int64_t axis : sorted_axes(node, given, rank)) {
    if (axis == batch && node.batch_is_one())
      reduced.batch = true;
    else
      reduced.axes.push_back(node.sample_axis(0, axis));
  }
  return reduced;
}

Shape without(const Shape& shape, const std::vector<std::size_t>& axes, bool keep) {
  Shape left;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool dropped = std::find(axes.begin(), axes.end(), k) != axes.end();
    if (!dropped || keep) left.push_back(dropped ? 1 : shape[k]);
  }
  return left;
}

int batch_axis_without(const NodeImport& node, const Reduced& reduced, bool keep) {
  const int batch = node.batch_axis(0);
  if (keep || batch < 0) return batch;
  if (reduced.batch) return -1;
  const auto before = std::count_if(reduced.axes.begin(), reduced.axes.end(),
                                    [&](std::size_t axis) { return static_cast<int>(axis) < batch; });
  return batch - static_cast<int>(before);
}

void import_reduction(NodeImport& node) {
  node.expect_inputs(1, 2);
  const Integers given = given_axes(node);
  if (given.empty() && node.integer("noop_with_empty_axes", 0) != 0) return node.pass_on(0);
  const Reduced reduced = reduced_axes(node, given);
  const bool keep = node.integer("keepdims", 1) != 0;
  const Shape in = node.shape(0);
  int value = node.tensor(0);
  Shape pooled = in;
  const bool over_space = in.size() == 3 && reduced.axes == std::vector<std::size_t>{1, 2};
  std::int64_t size = 1;
  for (std::size_t axis : reduced.axes) size *= in[axis];
  if (!over_space) {
    const LastAxis last = to_last_axis(node, reduced.axes);
    pooled = {element_count(last.outer), size, 1};
    value = node.add([&] { return std::make_shared<ReshapeLayer>(pooled); }, {last.value});
  }
  using Reduction = GlobalPoolLayer::Reduction;
  const bool minimum = node.op() == "ReduceMin";  // the maximum of what is negated
  const Reduction reduction = minimum || node.op() == "ReduceMax" ? Reduction::maximum : Reduction::average;
  if (minimum) value = add_affine(node, value, {-1.0f}, {0.0f});
  value = node.add([&] { return std::make_shared<GlobalPoolLayer>(reduction); }, {value});
  if (minimum) value = add_affine(node, value, {-1.0f}, {0.0f});
  if (node.op() == "ReduceSum") {
    const std::vector<float> factor{static_cast<float>(size)}, nothing{0.0f};
    value = node.add([&] { return std::make_shared<AffineLayer>(factor, nothing); }, {value});
  }
  value = add_reshape(node, value, {pooled[0], 1, 1}, without(in, reduced.axes, keep));
  node.emit_node(value, batch_axis_without(node, reduced, keep));
}

// Up to opset 12 over all axes from `axis` on, then over that one.
void import_softmax(NodeImport& node) {
  const std::int64_t rank = node.rank(0);
  const bool one_axis = node.opset() >= 13;
  const std::int64_t first = node.axis(node.integer("axis", one_axis ? -1 : 1), rank);
  std::vector<std::size_t> axes;
  for (std::int64_t axis = first; axis < (one_axis ? first + 1 : rank); ++axis)
    axes.push_back(node.sample_axis(0, axis));
  const bool logarithm = node.op() == "LogSoftmax";
  const LastAxis last = to_last_axis(node, axes);
  const int value = node.add([&] { return std::make_shared<SoftmaxLayer>(logarithm); }, {last.value});
  node.emit_node(from_last_axis(node, last, value, last.inner), node.batch_axis(0));
}

void import_arg_max(NodeImport& node) {
  const Reduced reduced = reduced_axes(node, {node.integer("axis", 0)});
  if (reduced.axes.empty()) node.fail("ArgMax over the batch is not supported");
  const bool keep = node.integer("keepdims", 1) != 0, select_last = node.integer("select_last_index", 0) != 0;
  const LastAxis last = to_last_axis(node, reduced.axes);
  int value = node.add([&] { return std::make_shared<ArgMaxLayer>(select_last); }, {last.value});
  const Shape result = without(node.shape(0), reduced.axes, keep);
  const Shape& now = element_count(last.outer) == 1 ? Shape{1} : [&] {
    Shape shape = last.outer;
    shape.push_back(1);
    return shape;
  }();
  // A class number for each sample has no axis but the batch: it stays a list of one here.
  if (!result.empty()) value = add_reshape(node, value, now, result);
  node.emit_node(value, batch_axis_without(node, reduced, keep));
}

constexpr OperatorImporter kAxes[] = {
    {"ArgMax", import_arg_max},      {"Concat", import_concat},        {"LogSoftmax", import_softmax},
    {"ReduceMax", import_reduction}, {"ReduceMean", import_reduction}, {"ReduceMin", import_reduction},
    {"ReduceSum", import_reduction}, {"Slice", import_slice},          {"Softmax", import_softmax},
    {"Split", import_split},         {"Squeeze", import_squeeze},      {"Transpose", import_transpose},
    {"Unsqueeze", import_unsqueeze},
};

}  // namespace

std::vector<std::size_t> transpose_order(const NodeImport& node, std::size_t rank) {
  Integers given = node.integers("perm", {});
  if (given.empty())
    for (std::size_t k = rank; k-- > 0;) given.push_back(static_cast<std::int64_t>(k));
  if (given.size() != rank) node.fail("Transpose names {} of {} axes", given.size(), rank);
  sorted_axes(node, given, static_cast<std::int64_t>(rank));
  std::vector<std::size_t> order;
  for (std::int64_t axis : given)
    order.push_back(static_cast<std::size_t>(node.axis(axis, static_cast<std::int64_t>(rank))));
  return order;
}

std::vector<bool> squeezed_axes(const NodeImport& node, const Shape& full) {
  const auto is_one = [&](std::int64_t size) {
    return size == 1 || (size == kBatchSize && node.batch_is_one());
  };
  std::vector<bool> drop(full.size(), false);
  const Integers given = given_axes(node);
  if (given.empty()) std::transform(full.begin(), full.end(), drop.begin(), is_one);
  for (std::int64_t axis : sorted_axes(node, given, std::ssize(full))) {
    const auto k = static_cast<std::size_t>(axis);
    if (full[k] == kBatchSize && !node.batch_is_one())
      node.fail("Squeeze would drop the batch; export the model with a fixed batch of 1");
    if (!is_one(full[k])) node.fail("Squeeze of axis {}, which has {} elements", axis, full[k]);
    drop[k] = true;
  }
  return drop;
}

std::vector<std::int64_t> unsqueezed_axes(const NodeImport& node, std::int64_t rank) {
  const Integers given = given_axes(node);
  return sorted_axes(node, given, rank + std::ssize(given));
}

// Up to opset 9 starts, ends and axes are attributes, then inputs. Negative positions count from the end, and
// what lies outside is moved to the edge.
SliceRange read_slice(const NodeImport& node, const Shape& full) {
  node.expect_inputs(1, 5);
  const Integers starts = node.has_input(1) ? node.sizes(1) : node.integers("starts", {});
  const Integers ends = node.has_input(2) ? node.sizes(2) : node.integers("ends", {});
  Integers axes = node.has_input(3) ? node.integers(3) : node.integers("axes", {});
  const Integers steps = node.has_input(4) ? node.integers(4) : Integers(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail("Slice has {} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(), axes.size(),
              steps.size());

  SliceRange range{Shape(full.size(), 0), Shape(full.size(), 1), full};
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const auto a = static_cast<std::size_t>(node.axis(axes[k], std::ssize(full)));
    const std::int64_t size = full[a];
    if (size == kBatchSize) {
      const bool all = starts[k] == 0 && steps[k] == 1 &&
                       (ends[k] >= kLargestValue || ends[k] == kBatchSize || ends[k] == node.fixed_batch());
      if (!all) node.fail("Slice would take samples out of the batch");
      continue;
    }
    if (starts[k] == kBatchSize || ends[k] == kBatchSize)
      node.fail("Slice by the size of the batch is not supported");
    if (steps[k] == 0 || steps[k] < -kLargestValue || steps[k] > kLargestValue)
      node.fail("Slice with step {}", steps[k]);
    const bool forward = steps[k] > 0;
    const auto clamped = [&](std::int64_t position, std::int64_t low, std::int64_t high) {
      if (position < 0) position += size;
      return std::clamp(position, low, std::max(low, high));
    };
    const std::int64_t from = forward ? clamped(starts[k], 0, size) : clamped(starts[k], 0, size - 1);
    const std::int64_t to = forward ? clamped(ends[k], 0, size) : clamped(ends[k], -1, size - 1);
    const std::int64_t span = forward ? to - from : from - to, stride = forward ? steps[k] : -steps[k];
    range.start[a] = from;
    range.step[a] = steps[k];
    range.count[a] = span <= 0 || size == 0 ? 0 : (span + stride - 1) / stride;
  }
  return range;
}

std::span<const OperatorImporter> axis_importers() {
  return kAxes;
}

}  // namespace lwsvm
