// Touching a buffer that a request has (T08: the write was submitted, the caller changes the
// bytes).
#include "io/lease.h"

#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/loop.h"
#include "tests/support/fault_engine.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::io {
namespace {

TEST(Lease, ChangedBufferOfAWriteIsFound) {
  std::vector<std::byte> data(5000);
  Op op;
  op.direction = Direction::kWrite;
  op.data = data.data();
  op.size_bytes = data.size();
  begin_lease(op, false);
  EXPECT_TRUE(end_lease(op).ok());
  begin_lease(op, false);
  data[4999] = std::byte{1};
  const Status status = end_lease(op);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("changed while it was in flight"), std::string::npos);
}

TEST(Lease, BufferOfAReadMayChange) {
  std::vector<std::byte> data(100);
  Op op;
  op.data = data.data();
  op.size_bytes = data.size();
  begin_lease(op, false);
  data[3] = std::byte{1};
  EXPECT_TRUE(end_lease(op).ok());
}

#ifndef __SANITIZE_THREAD__  // which stops at what this case does on purpose
TEST(Lease, T08WriteWhoseBufferTheCallerChangesFails) {
  const test::TemporaryFolder folder;
  File file = File::open(folder.file("data"), {.create = true}).value_or_throw();
  const auto control = std::make_shared<test::FaultControl>();
  Loop loop(test::make_fault_engine(control), {.check_leases = true});
  std::vector<std::byte> data(10000);
  struct Outcome {
    std::mutex mutex;
    Status status;
  } outcome;
  Op op;
  op.direction = Direction::kWrite;
  op.file = &file;
  op.data = data.data();
  op.size_bytes = data.size();
  op.context = &outcome;
  op.on_complete = [](Op& done, const Status& status) noexcept {
    Outcome& out = *static_cast<Outcome*>(done.context);
    const std::lock_guard lock(out.mutex);
    out.status = status;
  };
  control->hold();
  loop.enqueue(op);
  control->wait_for_held(1);
  data[77] = std::byte{9};
  control->resume();
  Op after;  // the loop completes in order
  after.direction = Direction::kFlush;
  after.file = &file;
  EXPECT_TRUE(run_blocking(loop, after).ok());
  const std::lock_guard lock(outcome.mutex);
  EXPECT_EQ(outcome.status.code(), StatusCode::kInternal);
  EXPECT_NE(outcome.status.message().find("write of 10000 bytes"), std::string::npos);
}
#endif

}  // namespace
}  // namespace stepwell::io
