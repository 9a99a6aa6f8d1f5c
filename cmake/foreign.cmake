# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# The hosts of binaries for other platforms (src/fmi/foreign): small programs, each made by a compiler for that
# platform. Where the compiler is not installed the host is left out, and FMUs for that platform cannot be run.
option(CPL_FOREIGN "Hosts of FMUs for other platforms, where their compilers are found" ON)
file(GLOB HOST_SOURCES CONFIGURE_DEPENDS src/fmi/foreign/*.c)
file(GLOB HOST_HEADERS CONFIGURE_DEPENDS src/fmi/foreign/*.h src/fmi/fmi*_functions.h src/fmi/headers/*.h)
set(HOST_FLAGS -std=c17 -O2 -g0 -ffp-contract=off -Wall -Wextra -Werror -I${CMAKE_SOURCE_DIR}/src
  -I${CMAKE_SOURCE_DIR}/src/fmi/headers -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
set(CPL_HOSTS "")

# file of the host, compiler, system, further flags
function(cpl_foreign_host name compiler system)
  set(sources ${HOST_SOURCES})
  list(FILTER sources EXCLUDE REGEX "/host_(windows|linux)\\.c$")
  list(APPEND sources ${CMAKE_SOURCE_DIR}/src/fmi/foreign/host_${system}.c ${CMAKE_SOURCE_DIR}/src/base/shared.c)
  add_custom_command(OUTPUT ${CPL_DATA}/foreign/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CPL_DATA}/foreign
    COMMAND ${compiler} ${HOST_FLAGS} ${sources} -o ${CPL_DATA}/foreign/${name} ${ARGN}
    DEPENDS ${sources} ${HOST_HEADERS} ${CMAKE_SOURCE_DIR}/src/base/shared.h VERBATIM)
  set(CPL_HOSTS ${CPL_HOSTS} ${CPL_DATA}/foreign/${name} PARENT_SCOPE)
endfunction()

if(NOT CPL_FOREIGN)
  add_custom_target(couplet_hosts)
  return()
endif()
find_program(CPL_MINGW64 x86_64-w64-mingw32-gcc)
if(CPL_MINGW64)
  cpl_foreign_host(host-win64.exe ${CPL_MINGW64} windows -static -s)
endif()
find_program(CPL_MINGW32 i686-w64-mingw32-gcc)
if(CPL_MINGW32)
  cpl_foreign_host(host-win32.exe ${CPL_MINGW32} windows -static -s -msse2 -mfpmath=sse)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  include(CheckCSourceCompiles)
  if(NOT CPL_LINUX32)
    unset(CPL_LINUX32 CACHE) # it may have been installed since
  endif()
  set(CMAKE_REQUIRED_FLAGS -m32)
  check_c_source_compiles("#include <stdio.h>\nint main(void) { return printf(\"\"); }" CPL_LINUX32)
  unset(CMAKE_REQUIRED_FLAGS)
  if(CPL_LINUX32)
    cpl_foreign_host(host-linux32 ${CMAKE_C_COMPILER} linux -m32 -D_GNU_SOURCE -s -ldl)
  endif()
endif()
add_custom_target(couplet_hosts ALL DEPENDS ${CPL_HOSTS})
