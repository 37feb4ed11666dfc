// What a network says of photos.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lwsvm/data.h"
#include "lwsvm/model.h"

namespace lwsvm {

struct ClassifySettings {
  PhotoSettings photos{};  // how they are cut; empty: as the network was trained
  PixelSettings pixels{};  // how they are normalised, where the network's file does not say
  int top = 5;             // classes named for each, the best first
  int threads = 0;         // 0: all cores
  std::function<void(const std::string&)> on_message{};  // what a person should know
};

struct ClassScore {
  int label = 0;
  std::string name;  // as the network's file has it, else "class 7"
  float score = 0;
};

struct ClassifiedPhoto {
  std::string file;
  std::vector<ClassScore> classes;
};

// Throws Error naming the file that is no photo, or damaged; with photos.skip_bad such files are left out.
std::vector<ClassifiedPhoto> classify(const Network& network, const std::vector<std::string>& files,
                                      const ClassifySettings& settings = {});

}  // namespace lwsvm
