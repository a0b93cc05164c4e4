# Writes OUTPUT, a header that says what the program is built from. Run on every
# build (a custom target), because the commit and the state of the working tree
# change without CMake being configured again; written only where something
# changed, so that nothing is compiled without need.
#
#   cmake -DSOURCE_DIR=... -DOUTPUT=.../build_info.h -DFLAGS=... -DBUILD_TYPE=...
#         -DVERSION=0.1.0 "-DLIBRARIES=eigen=3.4.0 highway=1.0.3" -P build_info.cmake
#
# A git that hangs, as on a file system that is away, tells nothing.
find_program(GIT git)
set(commit unknown)
set(dirty unknown)
if(GIT)
  execute_process(COMMAND ${GIT} rev-parse --verify --quiet HEAD
    WORKING_DIRECTORY ${SOURCE_DIR} TIMEOUT 60 RESULT_VARIABLE failed
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed EQUAL 0)
    set(commit ${head})
  endif()
  # Results and pages are written by measuring, and nothing is built from them but
  # from results/effects.json.
  execute_process(COMMAND ${GIT} status --porcelain -- .
      :!results/[!e]* :!results/e[!f]* :!*.md
    WORKING_DIRECTORY ${SOURCE_DIR} TIMEOUT 60 RESULT_VARIABLE failed
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(failed EQUAL 0 AND changes STREQUAL "")
    set(dirty no)
  elseif(failed EQUAL 0)
    set(dirty yes)
  endif()
endif()
string(STRIP "${FLAGS}" flags)
# A version that CMake could not tell is left out between "=" and the next name.
string(REGEX REPLACE "=( |$)" "=unknown\\1" LIBRARIES "${LIBRARIES}")
string(REGEX REPLACE "([^ =]+)=([^ ]+) *" "{\"\\1\", \"\\2\"}, "
  libraries "${LIBRARIES}")
# Quoted, so that flags with quotation marks or backslashes stay one text.
set(text "// Made by cmake/build_info.cmake on every build.
#define ATTNBENCH_VERSION \"${VERSION}\"
#define ATTNBENCH_COMMIT \"${commit}\"
#define ATTNBENCH_DIRTY \"${dirty}\"
#define ATTNBENCH_FLAGS R\"flags(${flags})flags\"
#define ATTNBENCH_BUILD_TYPE \"${BUILD_TYPE}\"
#define ATTNBENCH_LIBRARIES ${libraries}
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
