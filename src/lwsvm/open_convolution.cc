#include "lwsvm/open_convolution.h"

#include <algorithm>

#include "engine/interleaved_convolution.h"

namespace lwsvm {
namespace {

class OnImages final : public OpenConvolution {
 public:
  OnImages(const ConvolutionGeometry& g, bool bias, int samples)
      : weights_(g.weight_count()),
        dimension_(weights_ + (bias ? g.out_channels : 0)),
        input_size_(g.in_channels * g.in_height * g.in_width),
        output_size_(g.out_channels * g.out_height * g.out_width),
        chunk_(g, samples, ConvolutionUse{bias, false, false}),
        sample_(g, 1, ConvolutionUse{bias, false, true}) {}

  std::size_t scratch_floats() const override {
    return std::max(chunk_.scratch_floats(), packed_floats() + sample_.scratch_floats());
  }
  void load(const float* w) override {
    w_ = w;
    chunk_.pack(w);
  }
  void forward(const float* inputs, float* outputs, float* scratch) const override {
    chunk_.forward(inputs, w_ + weights_, outputs, scratch);
  }
  void slope_rows(const float* inputs, const float* output_slopes, int count, float* rows,
                  float* scratch) const override {
    for (int i = 0; i < count; ++i, rows += dimension_) {
      sample_.weight_gradient(inputs + i * input_size_, output_slopes + i * output_size_, scratch,
                              rows + weights_, scratch + packed_floats());
      sample_.unpack_gradient(scratch, rows);
    }
  }

 private:
  std::size_t packed_floats() const { return (sample_.packed_gradient_floats() + 15) / 16 * 16; }

  std::int64_t weights_, dimension_, input_size_, output_size_;
  Convolution chunk_;   // forward
  Convolution sample_;  // the derivative of one
  const float* w_ = nullptr;
};

class OnInterleavedSamples final : public OpenConvolution {
 public:
  OnInterleavedSamples(const ConvolutionGeometry& g, bool bias, int samples)
      : samples_(samples),
        weights_(g.weight_count()),
        input_{{g.in_channels, g.in_height, g.in_width}, Layout::channels_last},
        output_{{g.out_channels, g.out_height, g.out_width}, Layout::channels_last},
        row_{{weights_ + (bias ? g.out_channels : 0)}},
        convolution_(g, samples, interleaved_lanes(samples), ConvolutionUse{bias, false, true}) {}

  std::size_t scratch_floats() const override {
    return static_cast<std::size_t>(side_by_side(input_).floats(samples_) +
                                    side_by_side(output_).floats(samples_) +
                                    side_by_side(row_).floats(samples_)) +
           convolution_.scratch_floats();
  }
  void load(const float* w) override {
    w_ = w;
    convolution_.pack(w);
  }
  void forward(const float* inputs, float* outputs, float* scratch) const override {
    float* out = interleave(input_, inputs, samples_, scratch);
    convolution_.forward(scratch, w_ + weights_, out, out + side_by_side(output_).floats(samples_));
    relayout(side_by_side(output_), out, output_, outputs, samples_);
  }
  void slope_rows(const float* inputs, const float* output_slopes, int count, float* rows,
                  float* scratch) const override {
    float* slopes = interleave(input_, inputs, count, scratch);
    float* gradients = interleave(output_, output_slopes, count, slopes);
    convolution_.sample_gradients(count, scratch, slopes, gradients,
                                  gradients + side_by_side(row_).floats(samples_));
    relayout(side_by_side(row_), gradients, row_, rows, count);
  }

 private:
  TensorSpec side_by_side(const TensorSpec& spec) const {
    return {spec.shape, Layout::interleaved, interleaved_lanes(samples_)};
  }
  // Returns what comes after it.
  float* interleave(const TensorSpec& spec, const float* values, int count, float* target) const {
    relayout(spec, values, side_by_side(spec), target, count);
    return target + side_by_side(spec).floats(samples_);
  }

  int samples_;
  std::int64_t weights_;
  TensorSpec input_, output_, row_;
  InterleavedConvolution convolution_;
  const float* w_ = nullptr;
};

}  // namespace

std::unique_ptr<OpenConvolution> open_convolution(const ConvolutionLayer& layer, const Shape& input,
                                                  const Shape& output, int samples) {
  const ConvolutionGeometry g = layer.geometry(input, output);
  if (layer.interleaving(std::span(&input, 1)) == Interleaving::wanted)
    return std::make_unique<OnInterleavedSamples>(g, layer.spec().bias, samples);
  return std::make_unique<OnImages>(g, layer.spec().bias, samples);
}

}  // namespace lwsvm
