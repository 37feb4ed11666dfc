// What the library throws when what it was given is at fault: the message begins with the place and ends with
// a remedy.
//   [idx] train-images-idx3-ubyte: the file ends after 100 of 47040016 bytes; get it again with ...
#pragma once

#include <stdexcept>

namespace lwsvm {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lwsvm
