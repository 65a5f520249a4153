// Takes a model's parameters over: pages behind their storages, the training precision, the list
// that the optimizer gets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "src/paging/paged_storage.h"
#include "src/zero/sharded_optimizer.h"
#include "stepwell/engine.h"

namespace stepwell::engine {

/// A parameter after it was taken over.
struct TakenParameter {
  std::string name;
  torch::Tensor tensor;  // the model's own leaf
  torch::Tensor
      original;  // fp32 values where the training precision is another one, until masters are made
  const c10::StorageImpl* storage = nullptr;  // what it lay on then: a change of it is an error
  bool trainable = false;
};

/// Service that already holds one of the parameters (zero::Init), or null. Throws when they belong
/// to several.
std::shared_ptr<Service> service_of(const std::vector<NamedParameter>& parameters);

/// Refuses, naming the parameter: not a leaf, undefined, not on the CPU, of another type than fp32
/// (or the training precision), with gaps or overlaps in memory, named twice, or another engine's.
Status check_parameters(const std::vector<NamedParameter>& parameters, Precision precision);

/// Pages for every storage, key on every parameter, conversion to `precision`, one storage at a
/// time. Throws stepwell::Error.
std::vector<TakenParameter> take_over(const std::vector<NamedParameter>& parameters,
                                      const std::shared_ptr<Service>& service,
                                      Precision precision);

/// What the optimizer needs to know of a trainable parameter.
zero::ShardedParameter describe(const TakenParameter& parameter);

/// Marks the parameters as an engine's, or free again.
void claim(const std::vector<TakenParameter>& parameters, bool claimed);

/// Throws when a parameter no longer lies on the storage that was taken over (module->to(...),
/// set_data), or requires grad only since.
void check_unmoved(const std::vector<TakenParameter>& parameters);

}  // namespace stepwell::engine
