#include "swap/swap_space.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "io/placement.h"
#include "io/run_and_wait.h"
#include "src/base/format.h"
#include "stepwell/check.h"
#include "swap/checksum.h"
#include "swap/extent_allocator.h"
#include "swap/swap_file.h"

namespace stepwell::swap {

namespace {

/// The file grows by at least this much when an allocation finds no room.
constexpr std::uint64_t kGrowthBytes = 64 * kMiB;

}  // namespace

struct SwapSpace::Impl {
  Impl(std::vector<SwapFile> opened, std::unique_ptr<io::Volume> made)
      : files(std::move(opened)), volume(std::move(made)) {}

  static void on_request_complete(io::Request& request, const Status& status) noexcept;
  void finish(Transfer& transfer, const Status& outcome);
  Status verify(const Transfer& transfer);
  void remember_checksums(const Transfer& transfer);

  std::vector<SwapFile> files;
  std::mutex mutex;
  std::condition_variable idle;
  ExtentAllocator allocator;           // guarded by mutex
  SwapStats stats;                     // guarded by mutex
  std::uint64_t in_flight = 0;         // transfers, guarded by mutex
  std::unique_ptr<io::Volume> volume;  // last: its threads use everything above
};

SwapSpace::SwapSpace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<SwapSpace>> SwapSpace::open(const SwapSpaceOptions& options) {
  std::vector<SwapFile> files;
  std::vector<io::VolumeMember> members;
  for (const SwapFolder& folder : options.folders) {
    Result<std::vector<int>> cpus = io::cpus_for(folder.cpus, folder.path);
    STEPWELL_RETURN_IF_ERROR(cpus.status().with_context("stepwell.io.cpus"));
    Result<SwapFile> file = SwapFile::create(folder.path, options.rank, options.direct);
    STEPWELL_RETURN_IF_ERROR(file.status());
    files.push_back(std::move(file).value());
    members.push_back({.file = files.back().take_file(),
                       .weight = folder.weight,
                       .cpus = std::move(cpus).value()});
  }
  Result<std::unique_ptr<io::Volume>> volume =
      options.engine_factory
          ? io::Volume::create(std::move(members), options.volume, options.engine_factory)
          : io::Volume::create(std::move(members), options.volume);
  STEPWELL_RETURN_IF_ERROR(volume.status());
  std::unique_ptr<SwapSpace> space(new SwapSpace(  // NOLINT: private
      std::make_unique<Impl>(std::move(files), std::move(volume).value())));
  STEPWELL_RETURN_IF_ERROR(space->reserve(options.reserve_bytes));
  return space;
}

SwapSpace::~SwapSpace() {
  std::unique_lock lock(impl_->mutex);
  impl_->idle.wait(lock, [&] { return impl_->in_flight == 0; });
}

Status SwapSpace::reserve(std::uint64_t total_bytes) {
  const std::lock_guard lock(impl_->mutex);
  const std::uint64_t wanted = align_up(total_bytes, kExtentAlignment);
  if (wanted <= impl_->allocator.total_bytes()) {
    return {};
  }
  STEPWELL_RETURN_IF_ERROR(impl_->volume->preallocate(wanted).with_context(
      "the swap space has no room; free some, or name a larger disk in nvme_path"));
  impl_->allocator.grow(wanted);
  impl_->stats.file_bytes = wanted;
  return {};
}

Result<Extent> SwapSpace::allocate(std::uint64_t size_bytes, std::string name) {
  STEPWELL_CHECK(size_bytes > 0, concat("the extent of '", name, "' has no bytes"));
  std::optional<std::uint64_t> offset;
  std::uint64_t total = 0;
  std::uint64_t missing = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    offset = impl_->allocator.allocate(size_bytes);
    total = impl_->allocator.total_bytes();
    missing = align_up(size_bytes, kExtentAlignment) -
              std::min(align_up(size_bytes, kExtentAlignment), impl_->allocator.tail_free_bytes());
  }
  if (!offset) {
    if (!reserve(total + std::max(missing, kGrowthBytes)).ok()) {
      // Not even a whole step fits any more: exactly what is needed may.
      STEPWELL_RETURN_IF_ERROR(reserve(total + missing));
    }
    const std::lock_guard lock(impl_->mutex);
    offset = impl_->allocator.allocate(size_bytes);
  }
  if (!offset) {
    return allocate(size_bytes, std::move(name));  // another thread took what was added
  }
  Extent extent{.offset = *offset, .size_bytes = size_bytes, .name = std::move(name)};
  extent.checksums.resize(extent.block_count());
  extent.written.resize(extent.block_count());
  const std::lock_guard lock(impl_->mutex);
  impl_->stats.allocated_bytes += align_up(size_bytes, kExtentAlignment);
  impl_->stats.peak_allocated_bytes =
      std::max(impl_->stats.peak_allocated_bytes, impl_->stats.allocated_bytes);
  return extent;
}

void SwapSpace::release(Extent&& extent) {
  const Extent ended = std::move(extent);
  extent = Extent();
  const std::lock_guard lock(impl_->mutex);
  if (ended.abandoned) {
    return;
  }
  impl_->allocator.release(ended.offset, ended.size_bytes);
  impl_->stats.allocated_bytes -= align_up(ended.size_bytes, kExtentAlignment);
}

namespace {

void check_transfer(const Transfer& transfer) {
  const Extent* extent = transfer.extent;
  STEPWELL_CHECK(extent != nullptr && extent->valid(), "a transfer needs an extent");
  const std::uint64_t end = transfer.offset_bytes + transfer.size_bytes;
  STEPWELL_CHECK(transfer.space == nullptr,
                 concat("transfer of '", extent->name, "' is in flight"));
  STEPWELL_CHECK(transfer.size_bytes > 0 && end <= extent->size_bytes &&
                     is_aligned(transfer.offset_bytes, kChecksumBlockBytes) &&
                     (is_aligned(end, kChecksumBlockBytes) || end == extent->size_bytes),
                 concat("transfer of '", extent->name, "' is not made of whole blocks"));
  STEPWELL_CHECK(is_aligned(reinterpret_cast<std::uintptr_t>(transfer.data), kExtentAlignment),
                 concat("buffer for '", extent->name, "' is not aligned"));
}

/// Calls function(block, first byte in the transfer, bytes) for each checksum block of the
/// transfer.
template <class Function>
void for_each_block(const Transfer& transfer, Function function) {
  std::uint64_t block = transfer.offset_bytes / kChecksumBlockBytes;
  for (std::uint64_t at = 0; at < transfer.size_bytes; at += kChecksumBlockBytes, ++block) {
    function(block, at, std::min(kChecksumBlockBytes, transfer.size_bytes - at));
  }
}

}  // namespace

void SwapSpace::submit(Transfer& transfer) {
  check_transfer(transfer);
  if (transfer.direction == io::Direction::kRead) {
    for_each_block(transfer, [&](std::uint64_t block, std::uint64_t, std::uint64_t) {
      STEPWELL_CHECK(
          transfer.extent->written[block],
          concat("block ", block, " of '", transfer.extent->name, "' was never written"));
    });
  } else {
    // The caller's bytes do not change until completion, so the sums can be taken before the first
    // request.
    impl_->remember_checksums(transfer);
  }
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->in_flight;
  }
  transfer.space = impl_.get();
  io::Request& request = transfer.request;
  request.direction = transfer.direction;
  request.priority = transfer.priority;
  request.offset = transfer.extent->offset + transfer.offset_bytes;
  request.data = transfer.data;
  request.size_bytes = align_up(transfer.size_bytes, kExtentAlignment);
  request.context = &transfer;
  request.on_complete = &Impl::on_request_complete;
  impl_->volume->submit(request);
}

void SwapSpace::Impl::remember_checksums(const Transfer& transfer) {
  Extent& extent = *transfer.extent;
  for_each_block(transfer, [&](std::uint64_t block, std::uint64_t at, std::uint64_t bytes) {
    extent.checksums[block] = checksum_of(transfer.data + at, bytes);
    extent.written[block] = true;
  });
}

void SwapSpace::Impl::on_request_complete(io::Request& request, const Status& status) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(request.context);
  static_cast<Impl*>(transfer.space)->finish(transfer, status);
}

Status SwapSpace::Impl::verify(const Transfer& transfer) {
  const Extent& extent = *transfer.extent;
  Status status;
  for_each_block(transfer, [&](std::uint64_t block, std::uint64_t at, std::uint64_t bytes) {
    const std::uint64_t found = checksum_of(transfer.data + at, bytes);
    if (found != extent.checksums[block] && status.ok()) {
      const io::StripeLayout::Piece piece =
          volume->layout().first_piece(extent.offset + block * kChecksumBlockBytes, bytes);
      status = {StatusCode::kCorrupt,
                concat("'",
                       extent.name,
                       "' block ",
                       block,
                       " (",
                       bytes,
                       " bytes at offset ",
                       piece.member_offset,
                       " of ",
                       volume->file(piece.member).path(),
                       ") is not what was written: checksum ",
                       std::hex,
                       found,
                       ", expected ",
                       extent.checksums[block],
                       "; the disk or something that wrote to the file changed it")};
    }
  });
  return status;
}

void SwapSpace::Impl::finish(Transfer& transfer, const Status& outcome) {
  const bool read = transfer.direction == io::Direction::kRead;
  Status status = outcome.ok() && read ? verify(transfer) : outcome;
  if (!outcome.ok()) {
    status = outcome.with_context(concat("'", transfer.extent->name, "'"));
    transfer.extent->abandoned |= transfer.request.abandoned && !read;
  }
  {
    const std::lock_guard lock(mutex);
    stats.corrupt_blocks += status.code() == StatusCode::kCorrupt ? 1U : 0U;
    if (status.ok()) {
      (read ? stats.reads : stats.writes) += 1;
      (read ? stats.read_bytes : stats.written_bytes) += transfer.size_bytes;
    }
  }
  transfer.space = nullptr;
  transfer.on_complete(transfer, status);
  const std::lock_guard lock(mutex);
  --in_flight;
  idle.notify_all();
}

Status SwapSpace::run_blocking(Transfer& transfer) {
  return io::run_and_wait(transfer, [&] { submit(transfer); });
}

void SwapSpace::change_priority(Transfer& transfer, io::Priority priority) {
  impl_->volume->change_priority(transfer.request, priority);
}

const std::string& SwapSpace::path() const {
  return impl_->files.front().path();
}

std::string SwapSpace::describe() const {
  return "swap space " + impl_->volume->describe();
}

std::vector<io::Volume::MemberStats> SwapSpace::device_stats() const {
  return impl_->volume->stats();
}

std::vector<std::string> SwapSpace::complaints() const {
  return impl_->volume->complaints();
}

SwapStats SwapSpace::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

}  // namespace stepwell::swap
