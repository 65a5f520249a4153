// An engine that moves nothing: every request succeeds at once. Measures what everything around the
// I/O costs.
#pragma once

#include <memory>

#include "io/engine.h"

namespace stepwell::io {

Result<std::unique_ptr<Engine>> make_null_engine(const EngineOptions& options);

}  // namespace stepwell::io
