# Compiler settings shared by every target of this project. Third-party headers are SYSTEM includes,
# so warnings are judged on our own code only.
find_program(STEPWELL_CCACHE ccache)
if(STEPWELL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPWELL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${STEPWELL_CCACHE})
endif()

function(stepwell_configure_target target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    $<$<BOOL:${STEPWELL_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
    # GCC 12 takes the inlined "literal" + std::string for an overlapping copy at -O3.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers>
    # A precompiled header is only valid for ccache when it records no time stamps.
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    $<$<CXX_COMPILER_ID:Clang>:-Xclang -fno-pch-timestamp>)
  if(STEPWELL_SANITIZE)
    string(REPLACE ";" "," sanitizers "${STEPWELL_SANITIZE}")
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
  endif()
endfunction()
