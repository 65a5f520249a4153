// What the kernel says of this process and machine.
#pragma once

#include <cstdint>
#include <string>

namespace stepwell::train {

/// The value of a "Key:   123 kB" line of a /proc file, in bytes; 0 when there is none.
std::uint64_t proc_bytes(const std::string& file, const std::string& key);

/// Most physical memory this process had at once.
std::uint64_t peak_resident_bytes();

}  // namespace stepwell::train
