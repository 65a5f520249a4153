// One element at a time: what every machine runs, and the reference of the other sets.
#include "src/optim/kernels_body.h"
#include "src/optim/kernels_tables.h"

namespace stepwell::optim {

constinit const Kernels kScalarKernels = make_kernels<Narrow>(InstructionSet::kScalar);

}  // namespace stepwell::optim
