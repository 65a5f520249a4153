// The optimizer as a plain loop over vectors: what the sharded one has to give, to the bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "src/optim/kernels.h"
#include "src/zero/sharded_optimizer.h"

namespace stepwell::zero {

inline std::uint16_t to_bf16(float value) {
  optim::BFloat16 rounded{};
  optim::kernels_for(optim::InstructionSet::kScalar)->f32_to_bf16(&rounded, &value, 1);
  return rounded.bits;
}

inline float from_bf16(std::uint16_t bits) {
  const optim::BFloat16 value{bits};
  float wide = 0.0F;
  optim::kernels_for(optim::InstructionSet::kScalar)->bf16_to_f32(&wide, &value, 1);
  return wide;
}

class ReferenceOptimizer {
 public:
  struct Parameter {
    ElementType type = ElementType::kFloat32;
    std::vector<float> master;           // the weight itself when it is fp32
    std::vector<std::uint16_t> rounded;  // the weight when it is bf16
    std::vector<float> m, v, gradient;
    std::uint64_t steps = 0;
    std::uint64_t contributions = 0;
  };

  ReferenceOptimizer(const optim::AdamOptions& adam, double clip_norm)
      : adam_(adam), clip_norm_(clip_norm) {}

  void add(ElementType type, std::vector<float> weight) {
    Parameter made{.type = type, .master = std::move(weight)};
    made.m.resize(made.master.size());
    made.v.resize(made.master.size());
    made.gradient.resize(made.master.size());
    for (const float value : made.master) {
      made.rounded.push_back(to_bf16(value));
    }
    parameters.push_back(std::move(made));
  }

  void accumulate(std::size_t index, const std::vector<float>& gradient) {
    Parameter& of = parameters[index];
    for (std::size_t at = 0; at < gradient.size(); ++at) {
      of.gradient[at] = of.contributions > 0 ? of.gradient[at] + gradient[at] : gradient[at];
    }
    ++of.contributions;
  }

  /// Sum of squares in the order that the kernels promise: eight lanes a block, blocks in order.
  double norm() const {
    double total = 0.0;
    for (const Parameter& of : parameters) {
      double of_parameter = 0.0;
      for (std::size_t block = 0; of.contributions > 0 && block < of.gradient.size();
           block += optim::kNormBlockElements) {
        double lanes[8] = {};
        const std::size_t end =
            std::min<std::size_t>(block + optim::kNormBlockElements, of.gradient.size());
        for (std::size_t at = block; at < end; ++at) {
          lanes[(at - block) % 8] += double{of.gradient[at]} * double{of.gradient[at]};
        }
        double of_block = 0.0;
        for (const double lane : lanes) {
          of_block += lane;
        }
        of_parameter += of_block;
      }
      total += of_parameter;
    }
    return std::sqrt(total);
  }

  StepOutcome step(double lr) {
    const double found = norm();
    const bool applied = std::isfinite(found);
    const double scale = clip_norm_ > 0.0 ? 1.0 / std::max(1.0, (found + 1e-6) / clip_norm_) : 1.0;
    for (Parameter& of : parameters) {
      if (applied && of.contributions > 0) {
        optim::AdamOptions adam = adam_;
        adam.lr = lr;
        update(of, optim::make_adam_scalars(adam, ++of.steps, scale));
      }
      of.contributions = 0;
    }
    return {.applied = applied, .norm = found};
  }

  std::vector<Parameter> parameters;

 private:
  static void update(Parameter& of, const optim::AdamScalars& s) {
    for (std::size_t at = 0; at < of.master.size(); ++at) {
      if (of.type == ElementType::kBfloat16 && to_bf16(of.master[at]) != of.rounded[at]) {
        of.master[at] = from_bf16(of.rounded[at]);
      }
      const float g = of.gradient[at] * s.grad_scale;
      of.m[at] = s.beta1 * of.m[at] + s.one_minus_beta1 * g;
      of.v[at] = s.beta2 * of.v[at] + (s.one_minus_beta2 * g) * g;
      const float d = std::sqrt(of.v[at]) / s.bias2_sqrt + s.eps;
      of.master[at] = of.master[at] * s.decay_factor - s.step_size * (of.m[at] / d);
      of.rounded[at] = to_bf16(of.master[at]);
    }
  }

  optim::AdamOptions adam_;
  double clip_norm_;
};

}  // namespace stepwell::zero
