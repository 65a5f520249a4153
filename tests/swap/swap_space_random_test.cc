// Random extents and transfers on a device that answers in parts, late and in any order.
#include <cstring>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "stepwell/memory/pool.h"
#include "swap/swap_space.h"
#include "tests/support/memory_device.h"
#include "tests/support/temporary_folder.h"

namespace stepwell::swap {
namespace {

constexpr std::uint64_t kExtentBytesMax = 3 * kChecksumBlockBytes;

/// What must be on the device, beside what is.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    device_ = std::make_shared<test::MemoryDevice>(
        test::MemoryDeviceOptions{.seed = seed, .short_share = 0.3, .interrupted_share = 0.2});
    space_ =
        SwapSpace::open({.folders = {{.path = folder_.path().string()}},
                         .volume = {.block_bytes = 64 * kKiB},
                         .engine_factory = [this] { return test::make_memory_engine(device_); }})
            .value_or_throw();
  }

  void step() {
    const std::uint64_t choice = random_() % 4;
    if (pages_.empty() || (choice == 0 && pages_.size() < 12)) {
      add();
    } else {
      const auto page =
          std::next(pages_.begin(), static_cast<std::ptrdiff_t>(random_() % pages_.size()));
      if (choice == 1) {
        space_->release(std::move(page->second.extent));
        pages_.erase(page);
      } else if (choice == 2) {
        write(page->second);
      } else {
        expect_equal(page->second);
      }
    }
  }
  void expect_all_equal() {
    for (auto& [number, page] : pages_) {
      expect_equal(page);
    }
  }
  void release_all() {
    for (auto& [number, page] : pages_) {
      space_->release(std::move(page.extent));
    }
    EXPECT_EQ(space_->stats().allocated_bytes, 0U);
  }
  SwapSpace& space() { return *space_; }
  test::MemoryDevice& device() { return *device_; }

  struct Page {
    Extent extent;
    std::byte value{};
  };
  Status read(Page& page) { return transfer(io::Direction::kRead, page.extent); }
  Page& first_page() { return pages_.begin()->second; }

 private:
  void add() {
    const std::uint64_t bytes = 1 + random_() % kExtentBytesMax;
    const std::uint64_t number = next_++;
    Page& page = pages_[number];
    page.extent = space_->allocate(bytes, "page " + std::to_string(number)).value_or_throw();
    write(page);
  }
  void write(Page& page) {
    page.value = static_cast<std::byte>(random_());
    std::memset(staging_.data(), static_cast<int>(page.value), page.extent.size_bytes);
    const Status status = transfer(io::Direction::kWrite, page.extent);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  void expect_equal(Page& page) {
    std::memset(staging_.data(), 0x5a, page.extent.size_bytes);
    const Status status = read(page);
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (std::uint64_t at = 0; at < page.extent.size_bytes; ++at) {
      ASSERT_EQ(staging_.data()[at], page.value) << page.extent.name << " byte " << at;
    }
  }
  Status transfer(io::Direction direction, Extent& extent) {
    Transfer moved{.direction = direction,
                   .extent = &extent,
                   .size_bytes = extent.size_bytes,
                   .data = staging_.data()};
    return space_->run_blocking(moved);
  }

  std::mt19937_64 random_;
  test::TemporaryFolder folder_;
  std::shared_ptr<test::MemoryDevice> device_;
  std::unique_ptr<SwapSpace> space_;
  std::unique_ptr<memory::Source> source_ = memory::make_host_source(false);
  memory::Budget budget_{"host", kGiB};
  memory::Pool pool_{budget_, *source_};
  memory::Block staging_ = pool_.allocate(kExtentBytesMax, memory::Holder::kStaging).value();
  std::map<std::uint64_t, Page> pages_;
  std::uint64_t next_ = 0;
};

class SwapSpaceRandom : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SwapSpaceRandom, WhatWasWrittenComesBack) {
  Program program(GetParam());
  for (int step = 0; step < 60 && !testing::Test::HasFatalFailure(); ++step) {
    program.step();
  }
  program.expect_all_equal();
  program.release_all();
}

TEST_P(SwapSpaceRandom, AnyFlippedBitIsFound) {
  Program program(GetParam());
  program.step();
  Program::Page& page = program.first_page();
  program.device().flip_bit(program.space().path(),
                            page.extent.offset + GetParam() * 131 % page.extent.size_bytes);
  EXPECT_EQ(program.read(page).code(), StatusCode::kCorrupt);
  program.release_all();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SwapSpaceRandom, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace stepwell::swap
