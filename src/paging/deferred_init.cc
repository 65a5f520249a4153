// zero::Init: tensors that constructors create become pages at birth.
//
// Note [Birth of a page]
// ~~~~~~~~~~~~~~~~~~~~~~
// A mode key in the thread's included set brings every operator of the thread here. A factory (no
// tensor among its arguments) runs as usual, then its fresh storage is taken over: memory that it
// only reserved (aten::empty) is never touched, so a model whose parameters exceed all memory can
// be constructed. Initialisers that follow are ordinary in-place operators on a paged tensor: they
// fault it in and mark it changed.
#include <algorithm>
#include <string_view>

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "src/base/format.h"
#include "src/paging/paged_storage.h"
#include "stepwell/zero.h"

namespace stepwell {
namespace paging {
namespace {

constexpr c10::DispatchKey kInitKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local std::shared_ptr<Service> init_service;
thread_local std::uint64_t init_births = 0;

bool holds_tensor(const c10::Type& type) {
  if (type.isSubtypeOf(*c10::TensorType::get())) {
    return true;
  }
  const auto contained = type.containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const c10::TypePtr& inner) {
    return holds_tensor(*inner);
  });
}

bool is_factory(const c10::FunctionSchema& schema) {
  return std::none_of(schema.arguments().begin(),
                      schema.arguments().end(),
                      [](const auto& argument) { return holds_tensor(*argument.type()); });
}

bool can_become_page(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == torch::kStrided && tensor.device().is_cpu() &&
         tensor.storage().nbytes() >= zero::Init::kMinimumBytes &&
         tensor.storage().use_count() == 1 && tensor.is_contiguous() &&
         PagedStorage::of(tensor) == nullptr;
}

void page_at_birth(torch::Tensor& tensor, const std::string& operator_name) {
  const bool undefined = operator_name.starts_with("aten::empty");
  throw_if_error(PagedStorage::manage(tensor.storage(),
                                      init_service,
                                      concat("tensor ", ++init_births, " of ", operator_name),
                                      static_cast<std::uint64_t>(tensor.numel()),
                                      undefined));
  const PagedStorage* paged = PagedStorage::of(tensor);
  if (paged->home() != Tier::kDevice) {
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        c10::Storage(tensor.storage()), tensor.key_set().add(kPagedKey), tensor.dtype());
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    tensor = torch::Tensor(std::move(impl));
  }
}

void on_any_operator(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  {
    const c10::impl::ExcludeDispatchKeyGuard inside(kInitKey);
    op.callBoxed(stack);
  }
  if (init_service == nullptr || stack->empty() || !stack->back().isTensor() ||
      !is_factory(op.schema())) {
    return;
  }
  torch::Tensor made = stack->back().toTensor();
  torch::jit::drop(*stack, 1);
  if (can_become_page(made)) {
    page_at_birth(made, op.schema().name());
  }
  stack->emplace_back(std::move(made));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_any_operator>());
}

}  // namespace paging

namespace zero {

Init::Init(const Config& config)
    : Init(paging::init_service ? paging::init_service : make_service(config)) {}

Init::Init(std::shared_ptr<Service> service) : service_(std::move(service)) {
  if (paging::init_service == nullptr) {
    outermost_ = true;
    paging::init_service = service_;
    c10::impl::tls_set_dispatch_key_included(paging::kInitKey, true);
  } else {
    service_ = paging::init_service;
  }
}

Init::~Init() {
  if (outermost_) {
    c10::impl::tls_set_dispatch_key_included(paging::kInitKey, false);
    paging::init_service = nullptr;
  }
}

}  // namespace zero
}  // namespace stepwell
