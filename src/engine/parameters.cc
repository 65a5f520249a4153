#include "src/engine/parameters.h"

#include <map>
#include <set>

#include "src/base/format.h"

namespace stepwell {

std::vector<NamedParameter> named_parameters_of(const torch::nn::Module& module) {
  std::vector<NamedParameter> list;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& item : module.named_parameters(/*recurse=*/true)) {
    if (seen.insert(item.value().unsafeGetTensorImpl()).second) {
      list.push_back({item.key(), item.value()});
    }
  }
  return list;
}

std::vector<NamedParameter> named_parameters_of(const torch::jit::Module& module) {
  std::vector<NamedParameter> list;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& item : module.named_parameters(/*recurse=*/true)) {
    if (seen.insert(item.value.unsafeGetTensorImpl()).second) {
      list.push_back({item.name, item.value});
    }
  }
  return list;
}

namespace engine {

using paging::PagedStorage;

namespace {

Status refuse(const NamedParameter& parameter, const std::string& reason) {
  return {StatusCode::kInvalidArgument, concat("parameter '", parameter.name, "': ", reason)};
}

torch::ScalarType scalar_type_of(Precision precision) {
  return precision == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
}

}  // namespace

std::shared_ptr<Service> service_of(const std::vector<NamedParameter>& parameters) {
  std::shared_ptr<Service> service;
  for (const NamedParameter& parameter : parameters) {
    const PagedStorage* paged = PagedStorage::of(parameter.tensor);
    if (paged == nullptr) {
      continue;
    }
    if (service != nullptr && service != paged->service()) {
      throw Error(refuse(parameter,
                         "belongs to another service than the parameters before it; build the "
                         "whole model under one zero::Init"));
    }
    service = paged->service();
  }
  return service;
}

Status check_parameters(const std::vector<NamedParameter>& parameters, Precision precision) {
  std::set<std::string> names;
  if (parameters.empty()) {
    return {StatusCode::kInvalidArgument,
            "the model has no parameters: register them before initialize()"};
  }
  for (const NamedParameter& parameter : parameters) {
    const torch::Tensor& tensor = parameter.tensor;
    if (!tensor.defined()) {
      return refuse(parameter, "is undefined");
    }
    if (!names.insert(parameter.name).second) {
      return refuse(parameter, "is listed twice; a name must be unique");
    }
    if (!tensor.is_leaf()) {
      return refuse(parameter,
                    "is not a leaf of autograd; pass the tensor that the module registered");
    }
    if (tensor.layout() != torch::kStrided || !tensor.device().is_cpu()) {
      return refuse(parameter,
                    concat("is on ", tensor.device().str(), "; build the model on the CPU"));
    }
    const torch::ScalarType wanted = scalar_type_of(precision);
    if (tensor.scalar_type() != torch::kFloat32 && tensor.scalar_type() != wanted) {
      return refuse(parameter,
                    concat("has type ",
                           c10::toString(tensor.scalar_type()),
                           ", training is in ",
                           c10::toString(wanted),
                           "; build the model in Float"));
    }
    const PagedStorage* const paged = PagedStorage::of(tensor);
    if (paged != nullptr && paged->claimed()) {
      return refuse(parameter,
                    "is trained by another engine already; destroy that one before initialize()");
    }
    if (!tensor.is_non_overlapping_and_dense()) {
      return refuse(parameter, "has gaps or overlaps in memory; use tensor.contiguous()");
    }
  }
  return {};
}

namespace {

/// The storage in the training precision, as a page. Same element positions as `original`.
c10::Storage converted(const torch::Tensor& original,
                       const std::shared_ptr<Service>& service,
                       const std::string& name,
                       torch::ScalarType type) {
  const std::uint64_t elements =
      original.storage().nbytes() / static_cast<std::uint64_t>(original.element_size());
  const std::uint64_t bytes = elements * c10::elementSize(type);
  c10::Storage storage = PagedStorage::create(bytes, service, name, elements).value_or_throw();
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<std::int64_t>(elements);
  torch::Tensor target = paging::tensor_over(storage, count, type);
  target.copy_(original.detach().as_strided({count}, {1}, 0));
  return storage;
}

}  // namespace

std::vector<TakenParameter> take_over(const std::vector<NamedParameter>& parameters,
                                      const std::shared_ptr<Service>& service,
                                      Precision precision) {
  const torch::ScalarType type = scalar_type_of(precision);
  std::map<const c10::StorageImpl*, c10::Storage> moved;  // converted storages, by the old one
  std::vector<torch::Tensor> keep_old;
  std::vector<TakenParameter> taken;
  for (const NamedParameter& parameter : parameters) {
    torch::Tensor tensor = parameter.tensor;
    TakenParameter entry{
        .name = parameter.name, .tensor = tensor, .trainable = tensor.requires_grad()};
    if (tensor.storage().nbytes() > 0) {
      PagedStorage* paged = PagedStorage::of(tensor);
      if (tensor.scalar_type() != type) {
        // A detached alias keeps the old values, and the old storage as the key of the map.
        entry.original = tensor.detach();
        const c10::StorageImpl* old = tensor.storage().unsafeGetStorageImpl();
        auto found = moved.find(old);
        if (found == moved.end()) {
          found =
              moved.emplace(old, converted(entry.original, service, parameter.name, type)).first;
          keep_old.push_back(entry.original);
        }
        paging::move_to_storage(tensor, found->second, c10::scalarTypeToTypeMeta(type));
      } else if (paged == nullptr) {
        throw_if_error(PagedStorage::manage(tensor.storage(),
                                            service,
                                            parameter.name,
                                            static_cast<std::uint64_t>(tensor.numel()),
                                            false));
        paging::add_paged_key(tensor);
      } else {
        paged->rename(parameter.name);
        paging::add_paged_key(tensor);
      }
    }
    entry.storage = tensor.storage().unsafeGetStorageImpl();
    taken.push_back(std::move(entry));
  }
  return taken;
}

zero::ShardedParameter describe(const TakenParameter& parameter) {
  const PagedStorage* paged = PagedStorage::of(parameter.tensor);
  const auto element_bytes = static_cast<std::uint64_t>(parameter.tensor.element_size());
  return {
      .name = parameter.name,
      .page = paged->page(),
      .page_bytes = paged->size_bytes(),
      .offset_bytes = static_cast<std::uint64_t>(parameter.tensor.storage_offset()) * element_bytes,
      .elements = static_cast<std::uint64_t>(parameter.tensor.numel()),
      .type = parameter.tensor.scalar_type() == torch::kBFloat16 ? zero::ElementType::kBfloat16
                                                                 : zero::ElementType::kFloat32,
      .unwatched = paged->home() == Tier::kDevice};
}

void claim(const std::vector<TakenParameter>& parameters, bool claimed) {
  for (const TakenParameter& parameter : parameters) {
    if (PagedStorage* const paged = PagedStorage::of(parameter.tensor); paged != nullptr) {
      paged->set_claimed(claimed);
    }
  }
}

void check_unmoved(const std::vector<TakenParameter>& parameters) {
  for (const TakenParameter& parameter : parameters) {
    if (!parameter.trainable && parameter.tensor.requires_grad()) {
      throw Error(Status(StatusCode::kInvalidArgument,
                         concat("parameter '",
                                parameter.name,
                                "' requires grad only since initialize(), so this engine has no "
                                "optimizer state for it; call requires_grad_ before")));
    }
    if (parameter.tensor.storage().unsafeGetStorageImpl() != parameter.storage) {
      throw Error(Status(
          StatusCode::kInvalidArgument,
          concat("parameter '",
                 parameter.name,
                 "' was given another storage after initialize() (module->to(...) or set_data); "
                 "change type and device before initialize(), values in place")));
    }
  }
}

}  // namespace engine
}  // namespace stepwell
