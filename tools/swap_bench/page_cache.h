// Whether bytes came from the disk or from memory.
#pragma once

#include <cstdint>
#include <span>

#include "io/file.h"
#include "stepwell/status.h"

namespace stepwell::swap_bench {

/// Share of the pages of `file` that are in the page cache, 0 to 1, as mincore(2) tells it.
Result<double> resident_share(const io::File& file);

/// Writes `file` out and drops its pages. kUnsupported when the file system keeps them: a read of
/// this file cannot be measured then.
Status drop_page_cache(const io::File& file);

/// After a measurement by direct I/O: kCorrupt, with the numbers, when `file` lies in the page
/// cache, so that somebody read it through memory.
Status check_not_cached(const io::File& file);

/// For reads through the page cache: kCorrupt when `buffered_rate` is far beyond `direct_rate`
/// (both bytes per second) of the same file, which no disk explains.
Status check_plausible(double buffered_rate, double direct_rate);

}  // namespace stepwell::swap_bench
