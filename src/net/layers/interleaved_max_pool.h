// Max-pool of interleaved samples: the same function, to the last tie, as the one of channels-last images.
#pragma once

#include <memory>

#include "engine/lane_kernels.h"
#include "net/layers/convolution_layer.h"

namespace lwsvm {

std::unique_ptr<Kernel> interleaved_max_pool(const CompileRequest& request, const WindowSpec& window);

}  // namespace lwsvm
