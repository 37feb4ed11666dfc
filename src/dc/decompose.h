// A tail written as the difference of two convex functions of the open layer's output.
//
// Every value is carried as a pair (c, d), u = c - d, with c and d convex in the open layer's weights; a
// value that is affine in them (or constant) is the pair (u, 0). With A+ = max(A, 0), A- = max(-A, 0) and
// m = max(c, d):
//
//   linear A           ( A+ c + A- d,  A- c + A+ d ),  biases to c only; affine values stay (A u, 0)
//   slope a below 0    ( a+ c + (1-a)+ m,  d + (-a)+ c + (a-1)+ m )
//   clip to [lo, hi]   ( lo + max(c - lo, d),  max(c - hi, d) )
//   max-pool           ( maxpool(c - d) + sumpool(d),  sumpool(d) )
//   max_k u_k          ( max_k (c_k + sum_{j != k} d_j),  sum_j d_j );   min_k u_k = -max_k -u_k
//
// The second row is ReLU with a = 0, |u| with a = -1, leaky ReLU and PReLU; what c and d would share is taken
// off both (for a leaky ReLU d stays d, not (1 + a) d), so that the surrogate is tighter.
//
// At the loss, with last-layer weights V_y shifted so that V~_y = V_y - min V >= 0 and r = max_y V~_y
// (shifting all classes alike changes no loss):
//
//   convex   max_y [ Delta(y, y_i) + S_y ] + D_{y_i},    S_y = V~_y c + (r - V~_y) d + b_y,    D_y = V~_y d
//   concave  K_{y_i},                                    K_y = V~_y c + r d + b_y
//
// Departs from [BZK17], whose appendix sums the negative parts over all classes: S_y = c_y + sum_{k != y}
// d_k, D_y = d_y, K_y = c_y + sum_k d_k, with (c_y, d_y) the pair of score y. That is what LossSplit::paper
// gives, and what is used where the scores are not a dense layer.
//
// The decomposition is itself a graph of the layers that networks are made of, so running it, differentiating
// it and planning its memory need nothing new.
#pragma once

#include <vector>

#include "dc/tail.h"

namespace lwsvm {

enum class LossSplit { tight, paper };

struct Decomposition {
  Graph graph;  // inputs as the tail's; output: the blocks S, [D,] K side by side, each of C values
  std::vector<int>
      free_nodes;  // of `graph`: whose pieces the oracle searches; all others replay their pattern
  int classes = 0;
  bool has_shared = false;   // whether there is a D
  bool labels_only = false;  // nothing is free: the output is the C scores, S = K and D = 0

  int convex_at() const { return 0; }
  int shared_at() const { return classes; }
  int concave_at() const { return labels_only ? 0 : has_shared ? 2 * classes : classes; }
  int width() const { return labels_only ? classes : concave_at() + classes; }
};

// Piecewise linear layers of the tail, first to last: the search spaces free the last 0, 1, ... of them.
std::vector<int> piecewise_layers(const Tail& tail);

// `free_layers`: how many of the last piecewise linear layers are free; the others keep their patterns.
Decomposition decompose(const Tail& tail, int free_layers, LossSplit split);

}  // namespace lwsvm
