// I/O by the kernel's older asynchronous interface (io_submit), used directly: asynchronous for
// direct I/O only, and allowed in many containers that refuse io_uring.
#pragma once

#include <memory>

#include "io/engine.h"

namespace stepwell::io {

/// kUnsupported, kPermissionDenied or kIo, with the reason and the cure, when the kernel does not
/// allow it.
Result<std::unique_ptr<Engine>> make_libaio_engine(const EngineOptions& options);

}  // namespace stepwell::io
