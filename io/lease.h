// Watches that nobody touches a buffer while a request has it.
//
// On in builds without NDEBUG and in sanitizer builds (LoopOptions::check_leases changes it).
// A buffer that is written to disk is summed up when it is queued and again at completion: a change
// in between fails the request, and under the thread sanitizer the second sum is a reported race.
// Under the address sanitizer every access of the program to a leased buffer is reported where it
// happens.
#pragma once

#include "io/op.h"
#include "stepwell/status.h"

namespace stepwell::io {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
inline constexpr bool kLeasesCheckedByDefault = true;
#else
inline constexpr bool kLeasesCheckedByDefault = false;
#endif

/// Starts the lease of op.data. `poison`: the bytes move without user code touching them, so the
/// address sanitizer may watch them.
void begin_lease(Op& op, bool poison);
/// Ends it. kInternal, with the request, when the buffer of a write was changed.
Status end_lease(Op& op);

}  // namespace stepwell::io
