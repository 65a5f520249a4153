# Installs the libraries, the headers and a package for find_package(stepwell): targets stepwell::core and, when built
# with LibTorch, stepwell::stepwell (component "torch"). tests/consumer is a project that uses it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepwell)

# stepwell_core_dependencies rides along: a static library leaves it to the last link to find what it uses.
install(TARGETS stepwell_core stepwell_core_dependencies EXPORT stepwell_core)
install(EXPORT stepwell_core NAMESPACE stepwell:: FILE stepwell_core.cmake DESTINATION ${package_dir})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The I/O layer is of use by itself: #include <io/volume.h>.
install(DIRECTORY io DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepwell/core FILES_MATCHING PATTERN "*.h")
target_include_directories(stepwell_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stepwell/core>)
if(STEPWELL_TORCH)
  install(TARGETS stepwell EXPORT stepwell_torch)
  install(EXPORT stepwell_torch NAMESPACE stepwell:: FILE stepwell_torch.cmake DESTINATION ${package_dir})
  # The run path to LibTorch is given by its link flags. One of CMake's own would be blanked out at installation and
  # leave an empty entry, which means "search the current folder".
  set_target_properties(stepwell_cli PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  install(FILES tools/cmake/FindLibTorch.cmake DESTINATION ${package_dir})
endif()

configure_package_config_file(tools/cmake/stepwell-config.cmake.in stepwell-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break users.
write_basic_package_version_file(stepwell-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stepwell-config.cmake ${PROJECT_BINARY_DIR}/stepwell-config-version.cmake
        DESTINATION ${package_dir})
