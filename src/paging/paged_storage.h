// A torch storage whose bytes are a page: the link between c10::StorageImpl and the page table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "src/paging/service.h"

namespace stepwell::paging {

/// Key on every tensor over a paged storage: the dispatcher calls us before an operator that takes
/// one.
inline constexpr c10::DispatchKey kPagedKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

// Note [Storage and page]
// ~~~~~~~~~~~~~~~~~~~~~~~
// The PagedStorage is the context of the storage's DataPtr, so it is found from any tensor without
// a map, and it dies with the storage, taking the page along. While the page is pinned the DataPtr
// shows its address; otherwise it is null and every access to it throws an exception that names the
// parameter. Views, detached and saved tensors share the StorageImpl, so residency belongs to it
// and not to a tensor.

/// Owned by its storage. Thread-safe as the page table is.
class PagedStorage final : public residency::PageClient {
 public:
  /// Makes the bytes of `storage` (CPU memory, owned) a page of `service`. Its content is kept,
  /// unless `undefined`. All tensors over it must get the key (add_paged_key) before their next
  /// use.
  static Status manage(const c10::Storage& storage,
                       const std::shared_ptr<Service>& service,
                       const std::string& name,
                       std::uint64_t elements,
                       bool undefined);
  /// A new paged storage of `bytes` with undefined content.
  static Result<c10::Storage> create(std::uint64_t bytes,
                                     const std::shared_ptr<Service>& service,
                                     const std::string& name,
                                     std::uint64_t elements);
  /// The page behind `storage`, or null when it is an ordinary one.
  static PagedStorage* of(c10::StorageImpl* storage);
  static PagedStorage* of(const torch::Tensor& tensor);

  ~PagedStorage() override;
  PagedStorage(const PagedStorage&) = delete;
  PagedStorage& operator=(const PagedStorage&) = delete;

  PageId page() const { return page_; }
  const std::shared_ptr<Service>& service() const { return service_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// Where the page lives when not in use.
  Tier home() const { return home_; }
  /// The name shown in messages: known only when a model hands its parameters over.
  void rename(const std::string& name);
  /// An engine trains it.
  bool claimed() const { return claimed_; }
  void set_claimed(bool claimed) { claimed_ = claimed; }

  void on_attach(std::byte* data) noexcept override;
  void on_detach() noexcept override;

 private:
  PagedStorage(std::shared_ptr<Service> service, std::uint64_t bytes)
      : service_(std::move(service)), size_bytes_(bytes) {}
  static Result<std::unique_ptr<PagedStorage>> make(std::uint64_t bytes,
                                                    const std::shared_ptr<Service>& service,
                                                    const std::string& name,
                                                    std::uint64_t elements);
  static void die(void* context);
  void set_data(std::byte* data) noexcept;
  void bind(c10::StorageImpl* storage);
  Status hold_if_unmovable();

  std::shared_ptr<Service> service_;
  std::uint64_t size_bytes_;
  PageId page_;
  Tier home_ = Tier::kDevice;
  c10::StorageImpl* storage_ = nullptr;
  std::string absent_message_;
  bool claimed_ = false;
  bool held_ = false;  // a page that never moves stays pinned for good
};

/// A flat tensor over the first `count` elements of a paged storage.
torch::Tensor tensor_over(const c10::Storage& storage, std::int64_t count, torch::ScalarType type);
/// `parameter` becomes a tensor over the same storage whose operators we see. It stays the same
/// leaf.
void add_paged_key(torch::Tensor& parameter);
/// The same over another storage (same sizes and strides, `type` elements).
void move_to_storage(torch::Tensor& parameter, const c10::Storage& storage, caffe2::TypeMeta type);

}  // namespace stepwell::paging
