#include "net/layers/pooling_layers.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/simd.h"
#include "net/layers/interleaved_max_pool.h"

namespace lwsvm {
namespace {

// Where the windows of one channels-last image lie.
struct PoolGeometry {
  std::int64_t samples, channels, in_height, in_width, out_height, out_width;
  WindowSpec window;

  std::int64_t outputs() const { return samples * out_height * out_width * channels; }
  std::int64_t inputs() const { return samples * in_height * in_width * channels; }

  // visit(output row offset, input row offset, tap) for every tap that lies in the image; a row is one
  // pixel's channels.
  template <typename Visit>
  void for_each_window(const Visit& visit) const {
    for (std::int64_t n = 0; n < samples; ++n)
      for (std::int64_t oh = 0; oh < out_height; ++oh)
        for (std::int64_t ow = 0; ow < out_width; ++ow)
          visit(n, oh * window.stride_height - window.pad_top, ow * window.stride_width - window.pad_left,
                ((n * out_height + oh) * out_width + ow) * channels);
  }

  template <typename Visit>
  void for_each_tap(std::int64_t n, std::int64_t top, std::int64_t left, const Visit& visit) const {
    for (std::int64_t kh = 0; kh < window.height; ++kh) {
      const std::int64_t h = top + kh * window.dilation_height;
      if (h < 0 || h >= in_height) continue;
      for (std::int64_t kw = 0; kw < window.width; ++kw) {
        const std::int64_t w = left + kw * window.dilation_width;
        if (w < 0 || w >= in_width) continue;
        visit(((n * in_height + h) * in_width + w) * channels, kh * window.width + kw);
      }
    }
  }
};

// The outputs of one image row that a tap of their windows reaches, and where: pixel after pixel,
// `in_step` floats apart in the image, one row of channels apart in the output.
struct TapLine {
  std::int64_t in = 0, out = 0;  // offsets of the first
  std::int64_t pixels = 0, in_step = 0;
  std::int32_t tap = 0;
};

// visit(TapLine) for the taps of the windows of output row `oh`, in the order of for_each_tap.
template <typename Visit>
void for_each_line(const PoolGeometry& g, std::int64_t n, std::int64_t oh, const Visit& visit) {
  const WindowSpec& window = g.window;
  for (std::int64_t kh = 0; kh < window.height; ++kh) {
    const std::int64_t h = oh * window.stride_height - window.pad_top + kh * window.dilation_height;
    if (h < 0 || h >= g.in_height) continue;
    for (std::int64_t kw = 0; kw < window.width; ++kw) {
      const std::int64_t shift = kw * window.dilation_width - window.pad_left, stride = window.stride_width;
      const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
      const std::int64_t end = shift >= g.in_width ? 0 : (g.in_width - 1 - shift) / stride + 1;
      const std::int64_t pixels = std::min(end, g.out_width) - first;
      if (pixels <= 0) continue;
      visit(TapLine{((n * g.in_height + h) * g.in_width + first * stride + shift) * g.channels,
                    first * g.channels, pixels, stride * g.channels,
                    static_cast<std::int32_t>(kh * window.width + kw)});
    }
  }
}

PoolGeometry geometry_of(const CompileRequest& request, const WindowSpec& window) {
  const Shape &in = request.inputs[0].shape, &out = request.output.shape;
  return {request.samples, in[0], in[1], in[2], out[1], out[2], window};
}

// Lines of pixels, for one tap. Winners are as wide as the numbers here, and become bytes a line at a time:
// so a loop over a dozen channels fills its vectors.
//
// The running maximum. With an absorbed ReLU it starts at 0 with no winner, which is maxpool(relu(x));
// without, at minus infinity.
LWSVM_SIMD void max_line(const float* __restrict in, const TapLine& line, std::int64_t channels,
                         float* __restrict best) {
  for (std::int64_t p = 0; p < line.pixels; ++p, in += line.in_step, best += channels)
    for (std::int64_t c = 0; c < channels; ++c) best[c] = in[c] > best[c] ? in[c] : best[c];
}

LWSVM_SIMD void max_line(const float* __restrict in, const TapLine& line, std::int64_t channels,
                         float* __restrict best, std::int32_t* __restrict winner) {
  for (std::int64_t p = 0; p < line.pixels; ++p, in += line.in_step, best += channels, winner += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const bool better = in[c] > best[c];
      best[c] = better ? in[c] : best[c];
      winner[c] = better ? line.tap : winner[c];
    }
}

LWSVM_SIMD void select_line(const float* __restrict in, const TapLine& line, std::int64_t channels,
                            const std::int32_t* __restrict winner, float* __restrict out) {
  for (std::int64_t p = 0; p < line.pixels; ++p, in += line.in_step, out += channels, winner += channels)
    for (std::int64_t c = 0; c < channels; ++c) out[c] = winner[c] == line.tap ? in[c] : out[c];
}

LWSVM_SIMD void scatter_line(const float* __restrict gradient, const TapLine& line, std::int64_t channels,
                             const std::int32_t* __restrict winner, float* __restrict in) {
  for (std::int64_t p = 0; p < line.pixels; ++p, in += line.in_step, gradient += channels, winner += channels)
    for (std::int64_t c = 0; c < channels; ++c) in[c] += winner[c] == line.tap ? gradient[c] : 0.0f;
}

LWSVM_SIMD void narrow(const std::int32_t* __restrict wide, std::int64_t count,
                       std::uint8_t* __restrict bytes) {
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(wide[i]);
}

LWSVM_SIMD void widen(const std::uint8_t* __restrict bytes, std::int64_t count,
                      std::int32_t* __restrict wide) {
  for (std::int64_t i = 0; i < count; ++i) wide[i] = bytes[i];
}

LWSVM_SIMD void add_row(const float* __restrict row, std::int64_t channels, float scale,
                        float* __restrict sum) {
  for (std::int64_t c = 0; c < channels; ++c) sum[c] += scale * row[c];
}

class MaxPoolKernel final : public Kernel {
 public:
  MaxPoolKernel(const PoolGeometry& geometry, bool relu)
      : g_(geometry), start_(relu ? 0.0f : -std::numeric_limits<float>::infinity()) {}

  void forward(const ForwardArgs& args) const override {
    const float* in = args.inputs[0];
    auto* winners = reinterpret_cast<std::int32_t*>(args.scratch);  // of one line
    for_each_row([&](std::int64_t n, std::int64_t oh, std::int64_t row) {
      float* out = args.output + row;
      switch (args.use) {
        case PatternUse::replay:
          std::fill_n(out, row_size(), 0.0f);
          widen(args.pattern + row, row_size(), winners);
          for_each_line(g_, n, oh, [&](const TapLine& line) {
            select_line(in + line.in, line, g_.channels, winners + line.out, out + line.out);
          });
          break;
        case PatternUse::record:
          std::fill_n(out, row_size(), start_);
          std::fill_n(winners, row_size(), std::int32_t{kNoWinner});
          for_each_line(g_, n, oh, [&](const TapLine& line) {
            max_line(in + line.in, line, g_.channels, out + line.out, winners + line.out);
          });
          narrow(winners, row_size(), args.pattern + row);
          break;
        case PatternUse::ignore:
          std::fill_n(out, row_size(), start_);
          for_each_line(g_, n, oh, [&](const TapLine& line) {
            max_line(in + line.in, line, g_.channels, out + line.out);
          });
          break;
      }
    });
  }

  void backward(const BackwardArgs& args) const override {
    float* in_gradient = args.input_gradients[0];
    if (!in_gradient) return;
    std::fill_n(in_gradient, g_.inputs(), 0.0f);
    auto* winners = reinterpret_cast<std::int32_t*>(args.scratch);
    for_each_row([&](std::int64_t n, std::int64_t oh, std::int64_t row) {
      widen(args.pattern + row, row_size(), winners);
      for_each_line(g_, n, oh, [&](const TapLine& line) {
        scatter_line(args.output_gradient + row + line.out, line, g_.channels, winners + line.out,
                     in_gradient + line.in);
      });
    });
  }

  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(g_.outputs()); }
  std::size_t scratch_floats() const override { return static_cast<std::size_t>(row_size()); }

 private:
  std::int64_t row_size() const { return g_.out_width * g_.channels; }

  // visit(sample, output row, its offset)
  template <typename Visit>
  void for_each_row(const Visit& visit) const {
    for (std::int64_t n = 0; n < g_.samples; ++n)
      for (std::int64_t oh = 0; oh < g_.out_height; ++oh) visit(n, oh, (n * g_.out_height + oh) * row_size());
  }

  PoolGeometry g_;
  float start_;
};

class AveragePoolKernel final : public Kernel {
 public:
  AveragePoolKernel(const PoolGeometry& geometry, bool count_padding, bool sum = false)
      : g_(geometry), count_padding_(count_padding), sum_(sum) {}

  void forward(const ForwardArgs& args) const override {
    g_.for_each_window([&](std::int64_t n, std::int64_t top, std::int64_t left, std::int64_t out) {
      const float weight = share(top, left);
      std::fill_n(args.output + out, g_.channels, 0.0f);
      g_.for_each_tap(n, top, left, [&](std::int64_t at, std::int64_t) {
        add_row(args.inputs[0] + at, g_.channels, weight, args.output + out);
      });
    });
  }

  void backward(const BackwardArgs& args) const override {
    float* in_gradient = args.input_gradients[0];
    if (!in_gradient) return;
    std::fill_n(in_gradient, g_.inputs(), 0.0f);
    g_.for_each_window([&](std::int64_t n, std::int64_t top, std::int64_t left, std::int64_t out) {
      const float weight = share(top, left);
      g_.for_each_tap(n, top, left, [&](std::int64_t at, std::int64_t) {
        add_row(args.output_gradient + out, g_.channels, weight, in_gradient + at);
      });
    });
  }

 private:
  // 1 / (taps counted): those in the image, and with count_padding those in the padding, but never those
  // beyond it.
  float share(std::int64_t top, std::int64_t left) const {
    if (sum_) return 1.0f;
    const std::int64_t low_h = count_padding_ ? -g_.window.pad_top : 0;
    const std::int64_t low_w = count_padding_ ? -g_.window.pad_left : 0;
    const std::int64_t high_h = g_.in_height + (count_padding_ ? g_.window.pad_bottom : 0);
    const std::int64_t high_w = g_.in_width + (count_padding_ ? g_.window.pad_right : 0);
    std::int64_t rows = 0, columns = 0;
    for (std::int64_t k = 0; k < g_.window.height; ++k) {
      const std::int64_t h = top + k * g_.window.dilation_height;
      rows += h >= low_h && h < high_h;
    }
    for (std::int64_t k = 0; k < g_.window.width; ++k) {
      const std::int64_t w = left + k * g_.window.dilation_width;
      columns += w >= low_w && w < high_w;
    }
    return 1.0f / static_cast<float>(std::max<std::int64_t>(1, rows * columns));
  }

  PoolGeometry g_;
  bool count_padding_, sum_;
};

class GlobalAverageKernel final : public Kernel {
 public:
  GlobalAverageKernel(std::int64_t samples, std::int64_t pixels, std::int64_t channels)
      : samples_(samples), pixels_(pixels), channels_(channels), weight_(1.0f / static_cast<float>(pixels)) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t n = 0; n < samples_; ++n) {
      float* out = args.output + n * channels_;
      std::fill_n(out, channels_, 0.0f);
      for (std::int64_t p = 0; p < pixels_; ++p)
        add_row(args.inputs[0] + (n * pixels_ + p) * channels_, channels_, weight_, out);
    }
  }

  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t n = 0; n < samples_; ++n)
      for (std::int64_t p = 0; p < pixels_; ++p) {
        float* row = args.input_gradients[0] + (n * pixels_ + p) * channels_;
        std::fill_n(row, channels_, 0.0f);
        add_row(args.output_gradient + n * channels_, channels_, weight_, row);
      }
  }

 private:
  std::int64_t samples_, pixels_, channels_;
  float weight_;
};

// The pattern holds the winner's pixel as four bytes for each channel.
class GlobalMaximumKernel final : public Kernel {
 public:
  GlobalMaximumKernel(std::int64_t samples, std::int64_t pixels, std::int64_t channels)
      : samples_(samples), pixels_(pixels), channels_(channels) {}

  void forward(const ForwardArgs& args) const override {
    auto* winners = reinterpret_cast<std::uint32_t*>(args.pattern);
    for (std::int64_t n = 0; n < samples_; ++n)
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float* column = args.inputs[0] + n * pixels_ * channels_ + c;
        std::int64_t best = 0;
        if (args.use == PatternUse::replay) {
          best = winners[n * channels_ + c];
        } else {
          for (std::int64_t p = 1; p < pixels_; ++p)
            if (column[p * channels_] > column[best * channels_]) best = p;
        }
        if (args.use == PatternUse::record) winners[n * channels_ + c] = static_cast<std::uint32_t>(best);
        args.output[n * channels_ + c] = column[best * channels_];
      }
  }

  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    const auto* winners = reinterpret_cast<const std::uint32_t*>(args.pattern);
    std::fill_n(args.input_gradients[0], samples_ * pixels_ * channels_, 0.0f);
    for (std::int64_t n = 0; n < samples_; ++n)
      for (std::int64_t c = 0; c < channels_; ++c)
        args.input_gradients[0][(n * pixels_ + winners[n * channels_ + c]) * channels_ + c] =
            args.output_gradient[n * channels_ + c];
  }

  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(samples_ * channels_ * 4); }

 private:
  std::int64_t samples_, pixels_, channels_;
};

// With dilation a window can straddle a small image: all its taps in the padding on both sides.
bool every_window_sees(std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride,
                       std::int64_t dilation, std::int64_t low) {
  for (std::int64_t o = 0; o < out; ++o) {
    bool sees = false;
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t at = o * stride - low + k * dilation;
      sees |= at >= 0 && at < in;
    }
    if (!sees) return false;
  }
  return true;
}

Shape infer_pool(LayerKind kind, const WindowSpec& w, std::span<const Shape> inputs) {
  const Shape& image = only_image(kind, inputs);
  Shape out{image[0], w.out_height(image[1]), w.out_width(image[2])};
  if (!every_window_sees(image[1], out[1], w.height, w.stride_height, w.dilation_height, w.pad_top) ||
      !every_window_sees(image[2], out[2], w.width, w.stride_width, w.dilation_width, w.pad_left))
    fail("net", "{} has windows of nothing but padding on an image of {}", to_string(kind), to_string(image));
  return out;
}

void check_padding(LayerKind kind, const WindowSpec& w) {
  w.validate(kind);
  const std::int64_t reach_h = w.dilation_height * (w.height - 1) + 1,
                     reach_w = w.dilation_width * (w.width - 1) + 1;
  if (w.pad_top >= reach_h || w.pad_bottom >= reach_h || w.pad_left >= reach_w || w.pad_right >= reach_w)
    fail("net", "{} has windows of nothing but padding; its padding must be smaller than its window",
         to_string(kind));
}

}  // namespace

MaxPoolLayer::MaxPoolLayer(const WindowSpec& window) : window_(window) {
  check_padding(kind(), window);
  if (window.height * window.width >= kNoWinner)
    fail("net", "MaxPool windows have at most 254 taps, not {}x{}; over a whole image use GlobalMaxPool",
         window.height, window.width);
}

Shape MaxPoolLayer::infer(std::span<const Shape> inputs) const {
  return infer_pool(kind(), window_, inputs);
}

std::int64_t MaxPoolLayer::flops(std::span<const Shape>, const Shape& output) const {
  return element_count(output) * window_.height * window_.width;
}

std::unique_ptr<Kernel> MaxPoolLayer::compile(const CompileRequest& request) const {
  if (request.output.layout == Layout::interleaved) return interleaved_max_pool(request, window_);
  return std::make_unique<MaxPoolKernel>(geometry_of(request, window_), request.absorbs_relu);
}

AveragePoolLayer::AveragePoolLayer(const WindowSpec& window, bool count_padding)
    : window_(window), count_padding_(count_padding) {
  check_padding(kind(), window);
}

Shape AveragePoolLayer::infer(std::span<const Shape> inputs) const {
  return infer_pool(kind(), window_, inputs);
}

std::int64_t AveragePoolLayer::flops(std::span<const Shape>, const Shape& output) const {
  return element_count(output) * window_.height * window_.width;
}

std::unique_ptr<Kernel> AveragePoolLayer::compile(const CompileRequest& request) const {
  return std::make_unique<AveragePoolKernel>(geometry_of(request, window_), count_padding_);
}

Shape SumPoolLayer::infer(std::span<const Shape> inputs) const {
  return infer_pool(kind(), window_, inputs);
}

std::unique_ptr<Kernel> SumPoolLayer::compile(const CompileRequest& request) const {
  return std::make_unique<AveragePoolKernel>(geometry_of(request, window_), false, true);
}

LayerKind GlobalPoolLayer::kind() const {
  return reduction_ == Reduction::average ? LayerKind::global_average_pool : LayerKind::global_max_pool;
}

Linearity GlobalPoolLayer::linearity() const {
  return reduction_ == Reduction::average ? Linearity::linear : Linearity::piecewise_linear;
}

Shape GlobalPoolLayer::infer(std::span<const Shape> inputs) const {
  return {only_image(kind(), inputs)[0], 1, 1};
}

std::unique_ptr<Kernel> GlobalPoolLayer::compile(const CompileRequest& request) const {
  const Shape& in = request.inputs[0].shape;
  if (reduction_ == Reduction::average)
    return std::make_unique<GlobalAverageKernel>(request.samples, in[1] * in[2], in[0]);
  return std::make_unique<GlobalMaximumKernel>(request.samples, in[1] * in[2], in[0]);
}

}  // namespace lwsvm
