# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# The package couplet of Python: build/python/couplet, usable with PYTHONPATH=build/python. The extension has the library
# inside and uses the stable interface of CPython, so that it serves 3.11 and every later version. It finds lib/couplet below its
# own folder, where a link leads to it.
find_program(CPL_PYTHON_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "The Python that the module is built for")
set(python_include "")
if(CPL_PYTHON_EXECUTABLE)
  execute_process(COMMAND ${CPL_PYTHON_EXECUTABLE} -c
    "import sys, sysconfig; assert sys.version_info >= (3, 11); print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(CPL_PYTHON_FOUND OFF)
if(python_include AND EXISTS "${python_include}/Python.h")
  set(CPL_PYTHON_FOUND ON)
endif()
set(CPL_PYTHON "AUTO" CACHE STRING "The package of Python: ON, OFF, or AUTO: where Python.h of Python 3.11 or later is found")
if(CPL_FUZZ OR (CPL_PYTHON STREQUAL "AUTO" AND NOT CPL_PYTHON_FOUND) OR (NOT CPL_PYTHON AND NOT CPL_PYTHON STREQUAL "AUTO"))
  return()
endif()
if(NOT CPL_PYTHON_FOUND)
  message(FATAL_ERROR "Python.h of Python 3.11 or later is not found: scripts/setup installs it, or use -DCPL_PYTHON=OFF")
endif()

#------------------------------------ extension ------------------------------------

set(CPL_PYTHON_DIR "${CMAKE_BINARY_DIR}/python")
set(package "${CPL_PYTHON_DIR}/couplet")
file(GLOB PYTHON_SOURCES CONFIGURE_DEPENDS python/src/*.c)
add_library(couplet_python MODULE ${PYTHON_SOURCES})
target_include_directories(couplet_python PRIVATE include)
target_include_directories(couplet_python SYSTEM PRIVATE "${python_include}")
target_link_libraries(couplet_python PRIVATE couplet ${CPL_LINKS})
target_link_options(couplet_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(couplet_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
  LIBRARY_OUTPUT_DIRECTORY "${package}")
add_dependencies(couplet_python couplet_data)

#------------------------------------ package ------------------------------------

file(GLOB_RECURSE PYTHON_FILES CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/python/couplet"
  python/couplet/*.py python/couplet/*.pyi python/couplet/py.typed)
foreach(file ${PYTHON_FILES})
  configure_file(python/couplet/${file} "${package}/${file}" COPYONLY)
endforeach()
file(MAKE_DIRECTORY "${package}")
file(CREATE_LINK ../../lib "${package}/lib" SYMBOLIC)

#------------------------------------ install ------------------------------------

set(CPL_PYTHON_INSTALL "lib/python3/dist-packages" CACHE STRING "Folder of the package below the prefix")
set(installed "${CPL_PYTHON_INSTALL}/couplet")
install(TARGETS couplet_python LIBRARY DESTINATION ${installed})
install(DIRECTORY python/couplet DESTINATION ${CPL_PYTHON_INSTALL} FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi"
  PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
file(RELATIVE_PATH data "/x/${installed}/lib" "/x/lib/couplet")
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${installed}/lib\")
  file(MAKE_DIRECTORY \"\${folder}\")
  file(CREATE_LINK \"${data}\" \"\${folder}/couplet\" SYMBOLIC)")
