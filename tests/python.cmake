# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests of the package of Python: python/tests/test_NAME.py, run by pytest in a folder of its own. Under the address sanitizer
# its runtime is loaded before Python; leaks are those of the interpreter and of its modules, and are not reported.
if(NOT TARGET couplet_python)
  return()
endif()
set(preload "")
if(CPL_SANITIZE)
  if(NOT CPL_SANITIZE STREQUAL "address")
    return() # the interpreter itself is not compiled for it
  endif()
  set(runtime libasan.so)
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    set(runtime libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${runtime} OUTPUT_VARIABLE preload
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${preload}" OR NOT EXISTS "${preload}")
    return() # it is not installed
  endif()
endif()

if(NOT CPL_SANITIZE)
  add_test(NAME install/python COMMAND ${CPL_PYTHON_EXECUTABLE} -B -c
    "import couplet; print(couplet.simulate('examples/two_masses/two_masses.yaml', stop=1))" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(install/python PROPERTIES FIXTURES_REQUIRED stage TIMEOUT 1800 ENVIRONMENT
    "PYTHONPATH=${STAGE}/${CPL_PYTHON_INSTALL};XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/work/install_python")
endif()

file(GLOB PYTHON_TESTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/tests/test_*.py)
foreach(source ${PYTHON_TESTS})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "test_" "" name ${name})
  if(CPL_SANITIZE AND name MATCHES "^(documents)$") # no code of ours, or slow
    continue()
  endif()
  set(work ${CMAKE_CURRENT_BINARY_DIR}/work/python_${name})
  file(MAKE_DIRECTORY ${work})
  add_test(NAME python/${name} COMMAND ${OWN_FOLDER} ${CPL_PYTHON_EXECUTABLE} -B -m pytest -q -p no:cacheprovider --basetemp=tmp/pytest
    ${source} WORKING_DIRECTORY ${work})
  set(environment "COUPLET=$<TARGET_FILE:couplet_cli>" "COUPLET_SOURCE_DIR=${CMAKE_SOURCE_DIR}" "PYTHONPATH=${CPL_PYTHON_DIR}")
  if(preload)
    list(APPEND environment "LD_PRELOAD=${preload}" "ASAN_OPTIONS=${crashes}:detect_leaks=0" "PYTHONMALLOC=malloc")
  endif()
  set_tests_properties(python/${name} PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
endforeach()
