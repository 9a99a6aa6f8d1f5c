# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Notices of the parts of others that are inside of what users get (THIRD-PARTY.md): they are installed, and FMUs that
# couplet builds carry those of what is compiled into them. And the table as C, for couplet --version --verbose.
set(CPL_LICENSES "${CMAKE_BINARY_DIR}/licenses")
file(REMOVE_RECURSE "${CPL_LICENSES}" "${CPL_DATA}/fmu_licenses")

# Puts the files one after the other into a notice of that name.
function(cpl_notice name)
  set(all "")
  foreach(file ${ARGN})
    file(READ "${file}" text)
    string(APPEND all "${text}\n")
  endforeach()
  file(WRITE "${CPL_LICENSES}/${name}.txt" "${all}")
endfunction()

cpl_notice(couplet "${CMAKE_SOURCE_DIR}/LICENSE")
file(GLOB sundials_notices "${CPL_DEPS}/sundials/LICENSE" "${CPL_DEPS}/sundials/NOTICE")
cpl_notice(SUNDIALS ${sundials_notices})
find_file(DUKTAPE_NOTICE copyright PATHS /usr/share/doc/duktape-dev REQUIRED NO_DEFAULT_PATH)
cpl_notice(Duktape "${DUKTAPE_NOTICE}")
foreach(package uplot elkjs)
  file(GLOB notice "${CPL_NPM}/${package}/LICENSE*")
  cpl_notice(${package} ${notice})
endforeach()
foreach(name couplet SUNDIALS)
  configure_file("${CPL_LICENSES}/${name}.txt" "${CPL_DATA}/fmu_licenses/${name}.txt" COPYONLY)
endforeach()
install(FILES THIRD-PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CPL_LICENSES} DESTINATION ${CMAKE_INSTALL_DOCDIR})

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS THIRD-PARTY.md)
file(STRINGS THIRD-PARTY.md rows REGEX "^\\| [A-Za-z]")
set(parts "")
foreach(row ${rows})
  string(REGEX REPLACE "^\\| *([^|]*[^| ]) *\\|.*" "\\1" name "${row}")
  string(REGEX REPLACE "^\\|[^|]*\\| *([^|]*) \\|.*" "\\1" version "${row}")
  string(REGEX REPLACE "^\\|[^|]*\\|[^|]*\\| *([^|]*[^| ]) *\\|.*" "\\1" licence "${row}")
  string(REGEX REPLACE "^\\|[^|]*\\|[^|]*\\|[^|]*\\| *([^|]*[^| ]) *\\|.*" "\\1" how "${row}")
  if(NOT name STREQUAL "part" AND NOT how STREQUAL "tests")
    string(REPLACE "`" "" how "${how}")
    string(APPEND parts "PART(\"${name}\", \"${version}\", \"${licence}\", \"${how}\")\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT generated/parts.h CONTENT "${parts}")
