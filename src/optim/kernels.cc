#include "src/optim/kernels.h"

#include <cmath>

#include "src/optim/kernels_tables.h"
#include "stepwell/check.h"

namespace stepwell::optim {
namespace {

bool machine_runs(InstructionSet set) {
#if defined(__x86_64__)
  switch (set) {
    case InstructionSet::kScalar:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") != 0;
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
#else
  return set == InstructionSet::kScalar;
#endif
}

const Kernels& choose() {
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2}) {
    if (const Kernels* table = kernels_for(set)) {
      return *table;
    }
  }
  return kScalarKernels;
}

}  // namespace

const char* to_string(InstructionSet set) {
  switch (set) {
    case InstructionSet::kScalar:
      return "scalar";
    case InstructionSet::kAvx2:
      return "AVX2";
    case InstructionSet::kAvx512:
      return "AVX-512";
  }
  return "unknown";
}

AdamScalars make_adam_scalars(const AdamOptions& options, std::uint64_t step, double grad_scale) {
  STEPWELL_CHECK(step >= 1, "Adam counts its steps from 1");
  const auto t = static_cast<double>(step);
  const double bias1 = options.bias_correction ? 1.0 - std::pow(options.beta1, t) : 1.0;
  const double bias2 = options.bias_correction ? 1.0 - std::pow(options.beta2, t) : 1.0;
  const double decay = options.decoupled ? 1.0 - options.lr * options.weight_decay : 1.0;
  const double l2 = options.decoupled ? 0.0 : options.weight_decay;
  return AdamScalars{.beta1 = static_cast<float>(options.beta1),
                     .one_minus_beta1 = static_cast<float>(1.0 - options.beta1),
                     .beta2 = static_cast<float>(options.beta2),
                     .one_minus_beta2 = static_cast<float>(1.0 - options.beta2),
                     .eps = static_cast<float>(options.eps),
                     .step_size = static_cast<float>(options.lr / bias1),
                     .bias2_sqrt = static_cast<float>(std::sqrt(bias2)),
                     .decay_factor = static_cast<float>(decay),
                     .l2 = static_cast<float>(l2),
                     .grad_scale = static_cast<float>(grad_scale)};
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

const Kernels* kernels_for(InstructionSet set) {
  if (!machine_runs(set)) {
    return nullptr;
  }
  switch (set) {
    case InstructionSet::kScalar:
      return &kScalarKernels;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return &kAvx2Kernels;
    case InstructionSet::kAvx512:
      return &kAvx512Kernels;
#endif
    default:
      return nullptr;
  }
}

}  // namespace stepwell::optim
