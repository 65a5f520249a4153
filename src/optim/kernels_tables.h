// The tables of each instruction set, for the dispatch in kernels.cc. Constant data: reading one
// runs no instruction of its set.
#pragma once

#include "src/optim/kernels.h"

namespace stepwell::optim {

extern const Kernels kScalarKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace stepwell::optim
