#include "io/lease.h"

#include <xxhash.h>

#include "src/base/format.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace stepwell::io {
namespace {

std::uint64_t sum_of(const Op& op) {
  // Never 0, which means that nothing was summed up.
  return XXH3_64bits(op.data, op.size_bytes) | 1U;
}

}  // namespace

void begin_lease(Op& op, [[maybe_unused]] bool poison) {
  op.lease = op.direction == Direction::kWrite ? sum_of(op) : 0;
#ifdef __SANITIZE_ADDRESS__
  if (poison && op.direction != Direction::kFlush) {
    __asan_poison_memory_region(op.data, op.size_bytes);
  }
#endif
}

Status end_lease(Op& op) {
#ifdef __SANITIZE_ADDRESS__
  if (op.direction != Direction::kFlush) {
    __asan_unpoison_memory_region(op.data, op.size_bytes);
  }
#endif
  if (op.lease == 0 || op.lease == sum_of(op)) {
    return {};
  }
  return {StatusCode::kInternal,
          concat("the buffer of a ",
                 op.to_string(),
                 " was changed while it was in flight; what is on the disk may be neither the old "
                 "nor the new bytes. Wait for the completion before writing to it")};
}

}  // namespace stepwell::io
