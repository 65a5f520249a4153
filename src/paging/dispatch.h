// Interception of operators on paged tensors: see Note [Interception] in dispatch.cc.
#pragma once

namespace stepwell::paging {

/// Does nothing itself. Calling it keeps the registration in programs that link this library
/// statically: a linker leaves out objects that nobody names.
void link_interception();

}  // namespace stepwell::paging
