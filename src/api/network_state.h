// What a Network of the public API holds.
#pragma once

#include <string>

#include "lwsvm/model.h"
#include "model/model.h"

namespace lwsvm {

struct Network::State {
  Model model;       // as its file has it: nothing is put in front of it to fit data
  std::string path;  // of that file; empty: it has changed since, or never was one
};

// What a run has come to: as it will be in a file, whether or not it ever is in one.
Network network_of(const Model& model);

}  // namespace lwsvm
