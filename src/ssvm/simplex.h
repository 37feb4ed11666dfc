// Euclidean projection onto the probability simplex.
//
//   argmin_a ||a - v||^2,  a >= 0, sum a = 1    is    a_y = max(v_y - tau, 0), tau such that they sum to 1
//
// tau by Michelot's method: average over the candidates, drop those at or below, repeat. It is exact after
// finitely many rounds (in practice two or three) and needs no sorting [Michelot86].
#pragma once

#include <span>

namespace lwsvm {

void project_to_simplex(std::span<const double> v, std::span<double> projection);

}  // namespace lwsvm
