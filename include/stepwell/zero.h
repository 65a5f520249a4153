// Parameters that are pages from birth, and access to them outside of operators.
#pragma once

#include <memory>
#include <vector>

#include <torch/torch.h>

#include "stepwell/config.h"

namespace stepwell {

/// The tiers (device arena, host memory, swap space) that engines and zero::Init attach to. Opaque;
/// lives as long as any page of it. Thread-safe.
class Service;

/// Opens the tiers that `config` describes. Throws stepwell::Error.
std::shared_ptr<Service> make_service(const Config& config);

namespace zero {

/// While it lives, tensors that this thread's constructors create (at least kMinimumBytes large)
/// are pages from birth, so a model whose parameters together exceed the device arena, or all
/// memory, can be constructed. Same seed, same values as without. Pass the same model to
/// initialize() afterwards: it uses this service. Contexts nest; the outer one works.
class Init {
 public:
  static constexpr std::uint64_t kMinimumBytes = 4096;

  explicit Init(const Config& config);
  explicit Init(std::shared_ptr<Service> service);
  ~Init();
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;

  std::shared_ptr<Service> service() const { return service_; }

 private:
  std::shared_ptr<Service> service_;
  bool outermost_ = false;
};

/// While it lives, `parameters` are resident and may be read and changed by any means, data
/// pointers included. What changed is kept: written back, and followed by the fp32 master copy.
/// Parameters that are not paged are left alone. May nest and overlap. Throws stepwell::Error when
/// they do not fit together in the device arena.
class GatheredParameters {
 public:
  explicit GatheredParameters(const std::vector<torch::Tensor>& parameters);
  ~GatheredParameters();
  GatheredParameters(const GatheredParameters&) = delete;
  GatheredParameters& operator=(const GatheredParameters&) = delete;

 private:
  struct Gathered;
  void release_all() noexcept;
  std::vector<Gathered> gathered_;
};

}  // namespace zero
}  // namespace stepwell
