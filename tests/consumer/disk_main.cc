// Reads and writes with the I/O of the core library alone: one volume over the folders that are
// named.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <io/volume.h>

using namespace stepwell;

int main(int argc, char** argv) {
  std::vector<io::VolumeMember> members;  // one file on each device
  for (int index = 1; index < argc; ++index) {
    const std::string path = std::string(argv[index]) + "/example.bin";
    members.push_back({.file = io::File::open(path, {.create = true}).value_or_throw()});
  }
  const auto volume = io::Volume::create(std::move(members), {}).value_or_throw();
  constexpr std::uint64_t kBytes = 16 * kMiB;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, kBytes));
  volume->register_memory({memory, kBytes});
  io::Request request;
  request.data = memory;
  request.size_bytes = kBytes;
  std::memset(memory, 42, kBytes);
  for (const io::Direction direction : {io::Direction::kWrite, io::Direction::kRead}) {
    request.direction = direction;
    if (const Status status = volume->run_blocking(request); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.to_string().c_str());
      return 1;
    }
    if (direction == io::Direction::kWrite) {
      std::memset(memory, 0, kBytes);
    }
  }
  std::printf("%s\nthe last byte is %d\n", volume->describe().c_str(), int(memory[kBytes - 1]));
  return memory[kBytes - 1] == std::byte{42} ? 0 : 1;
}
