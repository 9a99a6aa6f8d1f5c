# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# cmake -DROOT=... -DOUT=... -DVERSION=... -DFILES="src/base/base.h;..." -P flatten.cmake
# Copies sources into one folder for FMUs: base/base.h becomes base_base.h, in names and in #include.
# Their asserts are for couplet's own tests: they are compiled only where CPL_ASSERTS is defined.
file(REMOVE_RECURSE "${OUT}")
foreach(path IN LISTS FILES)
  file(READ "${ROOT}/${path}" text)
  string(REGEX REPLACE "^(src|include)/" "" name "${path}")
  string(REPLACE "/" "_" name "${name}")
  # no path here has more than three parts
  foreach(part RANGE 2)
    string(REGEX REPLACE "(#include \"[a-z0-9_]+)/([a-z0-9_/]+\\.h\")" "\\1_\\2" text "${text}")
  endforeach()
  if(name STREQUAL "base_base.h")
    string(REPLACE "#pragma once\n"
      "#pragma once\n\n#ifndef CPL_VERSION\n#define CPL_VERSION \"${VERSION}\"\n#endif\n" text "${text}")
  endif()
  string(REPLACE "#include <assert.h>\n"
    "#if !defined CPL_ASSERTS && !defined NDEBUG\n#define NDEBUG\n#endif\n#include <assert.h>\n" text "${text}")
  file(WRITE "${OUT}/${name}" "${text}")
endforeach()
