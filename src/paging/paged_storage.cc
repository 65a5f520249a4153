#include "src/paging/paged_storage.h"

#include <array>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::paging {

using residency::Access;
using residency::Hold;
using residency::PageUse;

PagedStorage* PagedStorage::of(c10::StorageImpl* storage) {
  const at::DataPtr& pointer = storage->_mutable_data_ptr_no_checks();
  return pointer.get_deleter() == &PagedStorage::die
             ? static_cast<PagedStorage*>(pointer.get_context())
             : nullptr;
}

PagedStorage* PagedStorage::of(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? of(tensor.storage().unsafeGetStorageImpl())
                                                  : nullptr;
}

void PagedStorage::die(void* context) {
  const std::unique_ptr<PagedStorage> ends(static_cast<PagedStorage*>(context));
}

PagedStorage::~PagedStorage() {
  if (!page_.valid()) {
    return;
  }
  if (held_) {
    storage_ = nullptr;  // it is being destroyed: nobody looks at its pointer any more
    const std::array<PageUse, 1> use{{{page_, Access::kRead}}};
    service_->pages().release(use, Hold::kLong);
  }
  service_->pages().destroy(page_);
}

Result<std::unique_ptr<PagedStorage>> PagedStorage::make(std::uint64_t bytes,
                                                         const std::shared_ptr<Service>& service,
                                                         const std::string& name,
                                                         std::uint64_t elements) {
  std::unique_ptr<PagedStorage> made(new PagedStorage(service, bytes));  // NOLINT: private
  made->home_ = service->parameter_home();
  const Result<PageId> page =
      service->pages().create({.name = name,
                               .size_bytes = bytes,
                               .pool = Tier::kDevice,
                               .home = made->home_,
                               .holder = memory::Holder::kParameters,
                               .keep_resident = service->keeps_resident(elements)},
                              made.get());
  STEPWELL_RETURN_IF_ERROR(page.status());
  made->page_ = page.value();
  made->rename(name);
  return made;
}

void PagedStorage::rename(const std::string& name) {
  absent_message_ = concat("stepwell: '",
                           name,
                           "' is not in memory now (it lives on the ",
                           to_string(home_),
                           " tier) and was accessed outside of an operator. Hold it with "
                           "stepwell::zero::GatheredParameters while its data pointer is used.");
  service_->pages().rename(page_, name);
}

void PagedStorage::set_data(std::byte* data) noexcept {
  if (storage_ == nullptr) {
    return;
  }
  at::DataPtr old = storage_->set_data_ptr(at::DataPtr(data, this, &PagedStorage::die, at::kCPU));
  old.release_context();
}

void PagedStorage::on_attach(std::byte* data) noexcept {
  if (storage_ != nullptr) {
    storage_->clear_data_ptr_access_error_msg_();
    set_data(data);
  }
}

void PagedStorage::on_detach() noexcept {
  if (storage_ != nullptr) {
    set_data(nullptr);
    storage_->release_data_and_set_meta_custom_data_ptr_error_msg_(absent_message_);
  }
}

/// `storage` owns this from now on.
void PagedStorage::bind(c10::StorageImpl* storage) {
  storage_ = storage;
  storage_->set_resizable(false);
  on_detach();
}

Status PagedStorage::hold_if_unmovable() {
  if (home_ == Tier::kDevice) {
    const std::array<PageUse, 1> use{{{page_, Access::kRead}}};
    STEPWELL_RETURN_IF_ERROR(
        service_->pages().acquire(service_->pages().operator_id("residence"), use, Hold::kLong));
    held_ = true;
  }
  return {};
}

Status PagedStorage::manage(const c10::Storage& storage,
                            const std::shared_ptr<Service>& service,
                            const std::string& name,
                            std::uint64_t elements,
                            bool undefined) {
  Result<std::unique_ptr<PagedStorage>> made = make(storage.nbytes(), service, name, elements);
  STEPWELL_RETURN_IF_ERROR(made.status());
  std::unique_ptr<PagedStorage> paged = std::move(made).value();
  if (!undefined) {
    const std::array<PageUse, 1> use{{{paged->page_, Access::kOverwrite}}};
    residency::ScopedPages pages;
    STEPWELL_RETURN_IF_ERROR(
        pages.acquire(service->pages(), service->pages().operator_id("take over"), use));
    std::memcpy(service->pages().data(paged->page_), storage.data(), storage.nbytes());
  }
  // The old memory is freed here; from now on the storage owns the page.
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  PagedStorage* owned = paged.get();
  impl->set_data_ptr(at::DataPtr(nullptr, paged.release(), &PagedStorage::die, at::kCPU));
  owned->bind(impl);
  return owned->hold_if_unmovable();
}

Result<c10::Storage> PagedStorage::create(std::uint64_t bytes,
                                          const std::shared_ptr<Service>& service,
                                          const std::string& name,
                                          std::uint64_t elements) {
  Result<std::unique_ptr<PagedStorage>> made = make(bytes, service, name, elements);
  STEPWELL_RETURN_IF_ERROR(made.status());
  PagedStorage* owned = made.value().get();
  c10::Storage storage(
      c10::Storage::use_byte_size_t(),
      bytes,
      at::DataPtr(nullptr, std::move(made).value().release(), &PagedStorage::die, at::kCPU),
      nullptr,
      false);
  owned->bind(storage.unsafeGetStorageImpl());
  STEPWELL_RETURN_IF_ERROR(owned->hold_if_unmovable());
  return storage;
}

namespace {

/// Key set of a tensor over `storage`. A page that never moves needs no interception: its pointer
/// is always there.
c10::DispatchKeySet keys_over(const c10::Storage& storage, c10::DispatchKeySet keys) {
  const PagedStorage* paged = PagedStorage::of(storage.unsafeGetStorageImpl());
  return paged != nullptr && paged->home() != Tier::kDevice ? keys.add(kPagedKey)
                                                            : keys.remove(kPagedKey);
}

}  // namespace

torch::Tensor tensor_over(const c10::Storage& storage, std::int64_t count, torch::ScalarType type) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(storage),
      keys_over(storage, c10::DispatchKeySet(c10::DispatchKey::CPU)),
      c10::scalarTypeToTypeMeta(type));
  impl->set_sizes_contiguous({count});
  return torch::Tensor(std::move(impl));
}

void move_to_storage(torch::Tensor& parameter, const c10::Storage& storage, caffe2::TypeMeta type) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(storage), keys_over(storage, parameter.key_set()), type);
  impl->set_sizes_and_strides(parameter.sizes(), parameter.strides(), parameter.storage_offset());
  const torch::NoGradGuard no_grad;
  parameter.set_data(torch::Tensor(std::move(impl)));
}

void add_paged_key(torch::Tensor& parameter) {
  move_to_storage(parameter, parameter.storage(), parameter.dtype());
}

}  // namespace stepwell::paging
