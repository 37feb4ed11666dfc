// Loops over interleaved samples: as many samples as a register has lanes go through a layer side by side.
//
// One pixel of one channel is one register (Layout::interleaved, engine/tensor.h), so every channel count,
// window and stride uses all lanes, a window's taps are aligned loads, and the lanes never meet: what a
// sample comes to does not depend on its neighbours. The source is one (lane_kernels.inc), compiled for 4
// lanes (any x86-64, SSE), 8 (AVX2 with FMA) and 16 (AVX-512). 8 and 16 give the same bits: they differ only
// in how many samples there are in a register.
//
// All strides and offsets are counted in floats and are multiples of the lanes.
#pragma once

#include <cstdint>

#include "engine/clamp.h"

namespace lwsvm {

// Output channels are computed in blocks of up to six, of sizes as equal as can be. Block b of `blocks`
// begins at channel `channels * b / blocks`.
constexpr std::int64_t kChannelBlock = 6;
constexpr std::int64_t channel_blocks(std::int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}

// out[c][y][x] = clamp(bias[c] + sum_k weights[k][c] in[offsets[k] + y in_row + x in_column])
struct WindowSums {
  const float* in = nullptr;
  float* out = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t terms = 0;
  const float* weights = nullptr;  // block after block, in each [term][channel of the block]
  const float* bias = nullptr;     // null: zeros
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t in_row = 0, in_column = 0;
  std::int64_t out_plane = 0, out_row = 0, out_column = 0;
  const Clamp* clamp = nullptr;  // null: none
};

// gradient[c][k] = sum over y, x and the lanes of slopes[c][y][x] in[offsets[k] + y in_row + x in_column]
//
// or, with `apart`, gradient[c][k][lane]: every sample's own.
struct WindowProducts {
  const float* in = nullptr;
  const float* slopes = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t terms = 0;
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t in_row = 0, in_column = 0;
  std::int64_t slope_plane = 0, slope_row = 0;  // the pixels of a row lie side by side
  float* gradient = nullptr;
  bool add = false;  // to what is there
  bool apart = false;
};

// c[r][o] = beta c[r][o] + sum_k a[r][k] b[o][k]: dense rows, and no row's sums know of the others.
struct RowProducts {
  const float* a = nullptr;                       // [rows][terms]
  const float* b = nullptr;                       // [columns][terms]
  float* c = nullptr;                             // [rows][columns]
  std::int64_t rows = 0, columns = 0, terms = 0;  // as many terms as lanes at least
  float beta = 0;                                 // 0: what is there is not read
};

// Max-pool of `planes` images of one channel. The window's taps are numbered row by row; a winner is a byte.
struct MaxPools {
  std::int64_t planes = 0, in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  std::int64_t height = 0, width = 0;  // of the window
  std::int64_t stride_height = 1, stride_width = 1, dilation_height = 1, dilation_width = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  float start = 0;  // 0: a ReLU comes before the pool, and where nothing is positive nobody wins
};

struct LaneKernels {
  int lanes;
  void (*window_sums)(const WindowSums&);
  void (*window_products)(const WindowProducts&);
  // sums[plane] or, with `apart`, sums[plane][lane]
  void (*plane_sums)(const float* in, std::int64_t planes, std::int64_t pixels, float* sums, bool add,
                     bool apart);
  void (*row_products)(const RowProducts&);
  void (*max_pool)(const MaxPools&, const float* in, float* out);
  void (*max_pool_record)(const MaxPools&, const float* in, float* out, std::uint8_t* winners);
  void (*max_pool_replay)(const MaxPools&, const float* in, float* out, const std::uint8_t* winners);
  void (*max_pool_backward)(const MaxPools&, const float* slopes, const std::uint8_t* winners,
                            float* in_slopes);
};

constexpr std::uint8_t kNoWinner = 255;  // a ReLU before the pool is off in the whole window

// For 4, 8 or 16 lanes; no more than simd_lanes().
const LaneKernels& lane_kernels(int lanes);

}  // namespace lwsvm
