# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# cmake -DROOT=... -DOUT=... -DVERSION=... -DFILES="src/base/base.h;..." [-DFOLLOW=ON] -P flatten.cmake
# Copies sources into one folder for FMUs: base/base.h becomes base_base.h, in names and in #include. With FOLLOW also
# the headers that they include.
# Their asserts are for couplet's own tests: they are compiled only where CPL_ASSERTS is defined.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${OUT}")

if(FOLLOW)
  set(next ${FILES})
  while(next)
    list(POP_FRONT next path)
    file(STRINGS "${ROOT}/${path}" lines REGEX "^#include \"[a-z0-9_]+/.*\\.h\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"(.*)\".*$" "\\1" header "${line}")
      foreach(folder src include)
        if(EXISTS "${ROOT}/${folder}/${header}" AND NOT "${folder}/${header}" IN_LIST FILES)
          list(APPEND FILES "${folder}/${header}")
          list(APPEND next "${folder}/${header}")
        endif()
      endforeach()
    endforeach()
  endwhile()
endif()

foreach(path IN LISTS FILES)
  file(READ "${ROOT}/${path}" text)
  string(REGEX REPLACE "^(src|include)/" "" name "${path}")
  string(REPLACE "/" "_" name "${name}")
  # no path here has more than three parts
  foreach(part RANGE 2)
    string(REGEX REPLACE "(#include \"[a-z0-9_]+)/([a-z0-9_/]+\\.h\")" "\\1_\\2" text "${text}")
  endforeach()
  set(asserts "#if !defined CPL_ASSERTS && !defined NDEBUG\n#define NDEBUG\n#endif\n")
  if(name STREQUAL "base_base.h")
    string(REPLACE "#pragma once\n"
      "#pragma once\n\n#ifndef CPL_VERSION\n#define CPL_VERSION \"${VERSION}\"\n#endif\n${asserts}" text "${text}")
  endif()
  string(REPLACE "#include <assert.h>\n"
    "${asserts}#include <assert.h>\n" text "${text}")
  file(WRITE "${OUT}/${name}" "${text}")
endforeach()
