// The pieces of a merged request as the kernel takes them.
#pragma once

#include <cstddef>

#include <sys/uio.h>

#include "io/op.h"

namespace stepwell::io {

static_assert(sizeof(Part) == sizeof(iovec) && offsetof(Part, data) == offsetof(iovec, iov_base) &&
              offsetof(Part, size_bytes) == offsetof(iovec, iov_len));

inline const iovec* as_iovec(const Part* parts) {
  return reinterpret_cast<const iovec*>(parts);
}

}  // namespace stepwell::io
