# Refuses a user's flags with which numbers would be others or a library cannot be
# used, before anything is compiled: the errors come late and deep in a build, or not
# at all. Tries the flags of every configuration with what dispatch.h includes.
set(configurations ${CMAKE_BUILD_TYPE})
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(is_multi_config)
  set(configurations ${CMAKE_CONFIGURATION_TYPES})
endif()
if(NOT configurations)
  set(configurations None)
endif()

if(NOT DEFINED attnbench_includes)
  set(attnbench_includes ${CMAKE_CURRENT_LIST_DIR}/..)
endif()

# These have no macro in some compiler (mechanisms/common/arithmetic.h), or make the
# linker add what rounds small numbers to zero.
string(CONCAT changing "-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|"
  "-freciprocal-math|-fno-signed-zeros|-fno-honor-nans|-fno-honor-infinities|"
  "-fapprox-func|-fdenormal-fp-math=[^ ]*|-mdaz-ftz")

foreach(configuration IN LISTS configurations)
  string(TOUPPER ${configuration} suffix)
  string(CONCAT flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${suffix}} "
    "${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_EXE_LINKER_FLAGS_${suffix}} "
    "${CMAKE_SHARED_LINKER_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS_${suffix}}")
  if(" ${flags} " MATCHES " (${changing}) ")
    message(FATAL_ERROR "The compiler's flag ${CMAKE_MATCH_1} changes numbers: leave it out")
  endif()

  set(CMAKE_TRY_COMPILE_CONFIGURATION ${configuration})
  try_compile(is_possible
    SOURCE_FROM_CONTENT flags.cc "
#include <fmt/format.h>
#include \"mechanisms/kernels/dispatch.h\"
int main() { return static_cast<int>(fmt::format(\"{}\", hwy::SupportedTargets()).size()); }
"
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${attnbench_includes}
    LINK_LIBRARIES hwy::hwy fmt::fmt
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    OUTPUT_VARIABLE output)
  if(NOT is_possible)
    string(REGEX MATCHALL "[^\n]*(error:|undefined reference|cannot find)[^\n]*" errors
      "${output}")
    list(JOIN errors "\n  " errors)
    set(remedy "")
    if(errors MATCHES "/hwy/")
      set(remedy "Leave out flags that name a CPU, such as -march=native: kernels are "
        "compiled for every SIMD level, and the best is taken when the program runs. Or "
        "name a CPU that Highway ${hwy_VERSION} knows, such as -march=skylake-avx512.")
    endif()
    string(STRIP "${flags}" flags)
    message(FATAL_ERROR "The compiler's flags cannot be used (${flags}):\n  ${errors}\n"
      ${remedy})
  endif()
endforeach()
unset(CMAKE_TRY_COMPILE_CONFIGURATION)
