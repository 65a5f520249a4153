# Finds LibTorch as it lies in the PyPI `torch` wheel or in a LibTorch archive and defines the target LibTorch::LibTorch.
#
# Looked for, in this order: Torch_DIR (…/share/cmake/Torch), every entry of CMAKE_PREFIX_PATH (both as variables of
# CMake, then of the environment), TORCH_HOME of the environment, and build/deps/torch of the source tree (where
# tools/setup puts it).
# Only libtorch_cpu and libc10 are linked, so a CPU build stays free of the CUDA libraries but for libcudart and
# libcupti, which small packages bring (tools/setup installs them beside torch).
set(libtorch_roots "")
foreach(dir IN ITEMS "${Torch_DIR}" "$ENV{Torch_DIR}")
  if(dir)
    get_filename_component(root "${dir}/../../.." ABSOLUTE)
    list(APPEND libtorch_roots ${root})
  endif()
endforeach()
string(REPLACE ":" ";" libtorch_environment_prefixes "$ENV{CMAKE_PREFIX_PATH}")
foreach(prefix IN LISTS CMAKE_PREFIX_PATH libtorch_environment_prefixes)
  list(APPEND libtorch_roots ${prefix} ${prefix}/torch)
endforeach()
if(DEFINED ENV{TORCH_HOME})
  list(APPEND libtorch_roots $ENV{TORCH_HOME})
endif()
if(STEPWELL_DEPS_DIR)
  list(APPEND libtorch_roots ${STEPWELL_DEPS_DIR}/torch)
endif()
list(APPEND libtorch_roots ${CMAKE_CURRENT_LIST_DIR}/../../build/deps/torch)

set(LibTorch_ROOT_DIR "")
foreach(root IN LISTS libtorch_roots)
  if(EXISTS ${root}/include/torch/csrc/api/include/torch/torch.h AND EXISTS ${root}/lib/libtorch_cpu.so)
    get_filename_component(LibTorch_ROOT_DIR ${root} ABSOLUTE)
    break()
  endif()
endforeach()

set(LibTorch_VERSION "")
if(LibTorch_ROOT_DIR)
  file(STRINGS ${LibTorch_ROOT_DIR}/include/torch/headeronly/version.h version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "TORCH_VERSION_${part} ([0-9]+)" _ "${version_lines}")
    list(APPEND libtorch_version ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN libtorch_version "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_ROOT_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run tools/setup, or pass -DTorch_DIR=<libtorch>/share/cmake/Torch, or configure with -DSTEPWELL_TORCH=OFF for the core library only")

# Imported, so that the installed package can name it and leave it to this file to define it.
if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    ${LibTorch_ROOT_DIR}/include ${LibTorch_ROOT_DIR}/include/torch/csrc/api/include)
  target_link_libraries(LibTorch::LibTorch INTERFACE
    -Wl,--no-as-needed ${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so ${LibTorch_ROOT_DIR}/lib/libc10.so -Wl,--as-needed)
  file(GLOB libtorch_runtime_dirs ${LibTorch_ROOT_DIR}/../nvidia/*/lib)
  foreach(dir ${LibTorch_ROOT_DIR}/lib ${libtorch_runtime_dirs})
    target_link_options(LibTorch::LibTorch INTERFACE -Wl,-rpath,${dir} -Wl,-rpath-link,${dir})
  endforeach()
endif()
