#include <atomic>
#include <cerrno>

#include <sys/mman.h>
#include <sys/resource.h>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/log.h"
#include "stepwell/memory/pool.h"

namespace stepwell::memory {
namespace {

/// Large blocks get large pages where the system gives them: fewer faults while they are first
/// filled.
constexpr std::uint64_t kHugePageBytes = 2 * kMiB;

class HostSource final : public Source {
 public:
  explicit HostSource(bool pinned) : pinned_(pinned) {}

  Result<std::byte*> map(std::uint64_t bytes) override {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
      return Status::from_errno(errno, concat("mapping ", format_bytes(bytes), " of host memory"));
    }
    if (bytes >= kHugePageBytes) {
      ::madvise(data, bytes, MADV_HUGEPAGE);  // a wish; refusal changes nothing but speed
    }
    if (pinned_ && ::mlock(data, bytes) != 0) {
      warn_once(errno, bytes);
    }
    return static_cast<std::byte*>(data);
  }

  void unmap(std::byte* data, std::uint64_t bytes) noexcept override { ::munmap(data, bytes); }

 private:
  void warn_once(int os_error, std::uint64_t bytes) {
    if (warned_.exchange(true)) {
      return;
    }
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    log_warning(
        Status::from_errno(os_error,
                           concat("locking ",
                                  format_bytes(bytes),
                                  " of host memory (limit ",
                                  format_bytes(limit.rlim_cur),
                                  ")"))
            .to_string() +
        "; going on with memory that is not locked. Raise the limit with 'ulimit -l', or set "
        "pin_memory to false");
  }

  bool pinned_;
  std::atomic<bool> warned_{false};
};

}  // namespace

std::unique_ptr<Source> make_host_source(bool pinned) {
  return std::make_unique<HostSource>(pinned);
}

}  // namespace stepwell::memory
