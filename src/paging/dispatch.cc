// Sees every operator that takes a paged tensor: pins the pages it uses, runs it, lets them go.
//
// Note [Interception]
// ~~~~~~~~~~~~~~~~~~~
// kPagedKey is on the key set of paged tensors and of their views, detached and saved copies;
// results do not get it. A boxed fallback under that key comes before autograd, so one call of an
// operator, with everything it is made of, is one use. In backward the operators that take saved
// weights come here again. Exceptions of a boxed fallback reach the caller, so a fault that fails
// is an exception at the operator that needed the page.
#include "src/paging/dispatch.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "src/paging/paged_storage.h"
#include "src/paging/pins.h"

namespace stepwell::paging {
namespace {

/// Operators that make a view and never look at the bytes. Others that may alias their input
/// (contiguous, reshape, to) may also copy, so they are uses.
const std::unordered_set<std::string_view>& view_operators() {
  static const std::unordered_set<std::string_view> names = {
      "aten::alias",    "aten::as_strided", "aten::chunk",     "aten::detach",
      "aten::diagonal", "aten::expand",     "aten::expand_as", "aten::mT",
      "aten::movedim",  "aten::narrow",     "aten::numpy_T",   "aten::permute",
      "aten::select",   "aten::slice",      "aten::split",     "aten::split_with_sizes",
      "aten::squeeze",  "aten::swapaxes",   "aten::t",         "aten::transpose",
      "aten::unbind",   "aten::unfold",     "aten::unsqueeze", "aten::view",
      "aten::view_as"};
  return names;
}

/// What is worth knowing once per operator.
struct OperatorInfo {
  std::string name;
  bool is_view = false;
  std::vector<bool> writes;                                       // by argument
  std::vector<std::pair<std::uint64_t, NameId>> name_in_service;  // by service
};

OperatorInfo make_info(const c10::FunctionSchema& schema) {
  OperatorInfo info;
  info.name = schema.name();
  info.is_view = view_operators().contains(schema.name());
  for (const c10::Argument& argument : schema.arguments()) {
    info.writes.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
  }
  return info;
}

OperatorInfo& info_of(const c10::OperatorHandle& op) {
  thread_local std::unordered_map<const c10::FunctionSchema*, OperatorInfo> known;
  const c10::FunctionSchema& schema = op.schema();
  const auto found = known.find(&schema);
  if (found != known.end() && found->second.name == schema.name() &&
      found->second.writes.size() == schema.arguments().size()) {
    return found->second;
  }
  return known.insert_or_assign(&schema, make_info(schema)).first->second;
}

NameId name_in(OperatorInfo& info, Service& service) {
  for (const auto& [id, name] : info.name_in_service) {
    if (id == service.id()) {
      return name;
    }
  }
  const NameId name = service.pages().operator_id(info.name);
  info.name_in_service.emplace_back(service.id(), name);
  return name;
}

void collect(const c10::IValue& value, bool writes, Pins& pins) {
  if (value.isTensor()) {
    pins.add(value.toTensor(), writes);
  } else if (value.isTensorList()) {
    for (const torch::Tensor& tensor : value.toTensorList()) {
      pins.add(tensor, writes);
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      collect(element, writes, pins);
    }
  }
}

void on_operator(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  OperatorInfo& info = info_of(op);
  Pins pins;
  if (!info.is_view) {
    std::size_t index = 0;
    for (const c10::IValue& value : torch::jit::last(*stack, info.writes.size())) {
      collect(value, info.writes[index++], pins);
    }
    pins.acquire([&](Service& service) { return name_in(info, service); });
  }
  const c10::impl::ExcludeDispatchKeyGuard inside(kPagedKey);
  op.callBoxed(stack);
}

}  // namespace

void link_interception() {}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_operator>());
}

}  // namespace stepwell::paging
