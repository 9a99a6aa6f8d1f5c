# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests of the project as a whole: what is installed, who includes whom, what the documents say.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

#------------------------------------ what is installed ------------------------------------

set(STAGE ${CMAKE_CURRENT_BINARY_DIR}/stage)
add_test(NAME install/stage
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${STAGE})
set_tests_properties(install/stage PROPERTIES FIXTURES_SETUP stage TIMEOUT 1800)
set(INSTALL_TESTS command)
if(NOT CPL_SANITIZE AND NOT CPL_COVERAGE) # those libraries need their runtime in every program
  list(APPEND INSTALL_TESTS cmake pkg-config symbols)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND INSTALL_TESTS hardened)
  endif()
endif()
foreach(what ${INSTALL_TESTS})
  add_test(NAME install/${what} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.sh ${what} ${STAGE}
    ${CMAKE_CURRENT_BINARY_DIR}/work/install_${what})
  set_tests_properties(install/${what} PROPERTIES FIXTURES_REQUIRED stage TIMEOUT 1800 ENVIRONMENT
    "CC=${CMAKE_C_COMPILER};COUPLET_VERSION=${PROJECT_VERSION};EXAMPLES=${CMAKE_SOURCE_DIR}/examples;SOURCES=${CMAKE_SOURCE_DIR}/")
endforeach()

#------------------------------------ the rules of the project ------------------------------------

function(cpl_project_test name)
  add_test(NAME project/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(project/${name} PROPERTIES TIMEOUT 1800
    ENVIRONMENT XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/work/project_${name})
endfunction()
cpl_project_test(layers ${Python3_EXECUTABLE} tools/check_layers.py)
cpl_project_test(headers ${Python3_EXECUTABLE} tools/check_headers.py)
cpl_project_test(layers_self_test ${Python3_EXECUTABLE} tools/check_layers.py --self-test)
if(NOT CPL_SANITIZE AND NOT CPL_COVERAGE) # those have their runtime in every program
  cpl_project_test(parts ${Python3_EXECUTABLE} tools/check_parts.py ${CMAKE_BINARY_DIR})
endif()
cpl_project_test(links ${Python3_EXECUTABLE} tools/docs.py --check)
cpl_project_test(snippets ${Python3_EXECUTABLE} tools/check_snippets.py)
cpl_project_test(documents ${Python3_EXECUTABLE} tools/check_readme.py $<TARGET_FILE:couplet_cli>
  README.md CONTRIBUTING.md docs/analysis.md docs/checkpoints.md docs/aggregated-or-monolithic.md docs/architecture.md docs/crosscheck.md docs/fmi-extensions.md docs/models-in-c.md
  docs/looking.md docs/fit.md docs/ssp.md docs/studies.md docs/system-fmu.md)
cpl_project_test(compare_monolithic ${Python3_EXECUTABLE} tools/compare_monolithic.py $<TARGET_FILE:couplet_cli>
  --repeat 1)
cpl_project_test(measured_documents ${Python3_EXECUTABLE} scripts/measure-docs --check --quick
  $<TARGET_FILE:couplet_cli>)
cpl_project_test(run_example scripts/run-example $<TARGET_FILE:couplet_cli>
  ${CMAKE_CURRENT_BINARY_DIR}/work/run_example)
cpl_project_test(setup tests/setup_test.sh ${CMAKE_CURRENT_BINARY_DIR}/work/setup)

#------------------------------------ the pages, in a browser ------------------------------------

find_program(NODE node REQUIRED)
file(GLOB BROWSER_TESTS CONFIGURE_DEPENDS browser/*_test.mjs)
foreach(source ${BROWSER_TESTS})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "_test" "" name ${name})
  set(work ${CMAKE_CURRENT_BINARY_DIR}/work/browser_${name})
  file(MAKE_DIRECTORY ${work})
  add_test(NAME browser/${name} COMMAND ${OWN_FOLDER} ${NODE} ${source} WORKING_DIRECTORY ${work})
  set_tests_properties(browser/${name} PROPERTIES TIMEOUT 1800 ENVIRONMENT
    "COUPLET=$<TARGET_FILE:couplet_cli>;COUPLET_SOURCE_DIR=${CMAKE_SOURCE_DIR};COUPLET_NPM=${CPL_NPM}")
endforeach()
