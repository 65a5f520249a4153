#include "tools/swap_bench/page_cache.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/format.h"
#include "stepwell/bytes.h"

namespace stepwell::swap_bench {
namespace {

/// The kernel keeps a few pages of any file (its ends, after preallocation).
constexpr double kResidentShareMax = 0.05;
/// Read-ahead of the page cache may serve short queues better than direct I/O, but not by this
/// much.
constexpr double kPlausibleRatioMax = 3;

}  // namespace

Result<double> resident_share(const io::File& file) {
  const Result<std::uint64_t> size = file.size_bytes();
  STEPWELL_RETURN_IF_ERROR(size.status());
  if (size.value() == 0) {
    return 0.0;
  }
  void* const mapping = ::mmap(nullptr, size.value(), PROT_READ, MAP_SHARED, file.buffered_fd(), 0);
  if (mapping == MAP_FAILED) {
    return Status::from_errno(errno, "mapping " + file.path());
  }
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(div_ceil(size.value(), page_bytes));
  const int failed = ::mincore(mapping, size.value(), pages.data()) == 0 ? 0 : errno;
  ::munmap(mapping, size.value());
  if (failed != 0) {
    return Status::from_errno(failed, "asking which pages are in memory of " + file.path());
  }
  const auto resident = std::count_if(
      pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; });
  return static_cast<double>(resident) / static_cast<double>(pages.size());
}

Status drop_page_cache(const io::File& file) {
  if (::fdatasync(file.buffered_fd()) != 0) {
    return Status::from_errno(errno, "writing out " + file.path());
  }
  if (const int failed = ::posix_fadvise(file.buffered_fd(), 0, 0, POSIX_FADV_DONTNEED);
      failed != 0) {
    return Status::from_errno(failed, "dropping the pages of " + file.path());
  }
  const Result<double> share = resident_share(file);
  STEPWELL_RETURN_IF_ERROR(share.status());
  if (share.value() > kResidentShareMax) {
    return {StatusCode::kUnsupported,
            fmt::format("{}: {:.0f} % of its pages stay in memory although they were dropped; what "
                        "is read there is not read from a disk",
                        file.path(),
                        100 * share.value())};
  }
  return {};
}

Status check_not_cached(const io::File& file) {
  const Result<double> share = resident_share(file);
  STEPWELL_RETURN_IF_ERROR(share.status());
  if (share.value() > kResidentShareMax) {
    return {StatusCode::kCorrupt,
            fmt::format("the result is refused: {:.0f} % of {} are in the page cache after direct "
                        "I/O, so the bytes may have come from memory; is another program reading "
                        "it, or does the file system only pretend direct I/O?",
                        100 * share.value(),
                        file.path())};
  }
  return {};
}

Status check_plausible(double buffered_rate, double direct_rate) {
  if (direct_rate > 0 && buffered_rate > kPlausibleRatioMax * direct_rate) {
    return {StatusCode::kCorrupt,
            fmt::format("the result is refused: {} through the page cache against {} of direct I/O "
                        "on the same file come from memory, not from the disk; measure without "
                        "--buffered",
                        format_rate(buffered_rate),
                        format_rate(direct_rate))};
  }
  return {};
}

}  // namespace stepwell::swap_bench
