#include "src/comm/nccl_info.h"

#ifdef STEPWELL_HAVE_NCCL
#include <nccl.h>
#endif

#include "src/base/format.h"

namespace stepwell::comm {

#ifdef STEPWELL_HAVE_NCCL

std::string describe_nccl() {
  const std::string built = concat("built against ", NCCL_MAJOR, ".", NCCL_MINOR, ".", NCCL_PATCH);
  int version = 0;
  const ncclResult_t result = ncclGetVersion(&version);
  if (result != ncclSuccess) {
    return concat("unusable: ", ncclGetErrorString(result), " (", built, ")");
  }
  // NCCL's own coding since 2.9: major * 10000 + minor * 100 + patch.
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100, " (", built, ")");
}

#else

std::string describe_nccl() {
  return "none: this build has no NCCL; configure with -DSTEPWELL_NCCL=ON where nccl.h and libnccl "
         "are";
}

#endif

}  // namespace stepwell::comm
