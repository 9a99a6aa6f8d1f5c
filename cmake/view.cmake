# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# The pages that the library fills in, made of src/view/page and the packages that scripts/setup fetched: users need
# neither Node nor a network.
set(CPL_NPM "${CPL_DEPS}/npm/node_modules")
if(NOT EXISTS "${CPL_NPM}/uplot/dist/uPlot.iife.min.js")
  message(FATAL_ERROR "uPlot is not in ${CPL_NPM}: run scripts/setup first")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS src/view/page/*)
add_custom_command(OUTPUT ${CPL_DATA}/view/results.html
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/bundle.py ${CPL_NPM} ${CMAKE_SOURCE_DIR}/src/view/page
    ${CPL_DATA}/view
  DEPENDS ${page_sources} ${CMAKE_SOURCE_DIR}/tools/bundle.py ${CPL_DEPS}/npm/package-lock.json
  VERBATIM)
add_custom_target(couplet_pages ALL DEPENDS ${CPL_DATA}/view/results.html)
add_dependencies(couplet_cli couplet_pages)
