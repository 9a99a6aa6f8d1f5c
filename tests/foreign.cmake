# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# The test FMUs for other platforms, where their compilers are installed: tests of instances (fmi/fmiN_...) also run with
# them, as foreign/PLATFORM/NAME, and cli/other_platforms tests what is special about them.
set(FOREIGN_PROBES ${CMAKE_CURRENT_BINARY_DIR}/foreign)
set_property(TEST cli/other_platforms APPEND PROPERTY ENVIRONMENT "COUPLET_FOREIGN=${FOREIGN_PROBES}")
file(GLOB probe_headers CONFIGURE_DEPENDS fmi/*.h)

# Compiles FMU "NAME" of FMI version VERSION to PLATFORM/NAME; further arguments are definitions.
function(cpl_foreign_probe platform name version source)
  set(folder ${foreign_folder})
  if(version EQUAL 3)
    set(folder ${foreign_tuple})
  endif()
  cmake_path(GET source STEM identifier)
  string(REPLACE "_fmu" "" identifier ${identifier})
  if(ARGN)
    string(TOLOWER "${ARGN}" identifier)
  endif()
  set(binary ${FOREIGN_PROBES}/${platform}/${name}/binaries/${folder}/${identifier}${foreign_suffix})
  cmake_path(GET binary PARENT_PATH below)
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  add_custom_command(OUTPUT ${binary}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${below}
    COMMAND ${foreign_compiler} -std=c17 -D_GNU_SOURCE -O2 -ffp-contract=off -shared -w ${definitions}
      -I${CMAKE_SOURCE_DIR}/src/fmi/headers ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${binary} ${foreign_flags}
    DEPENDS ${source} ${probe_headers} VERBATIM)
  set(FOREIGN_BINARIES ${FOREIGN_BINARIES} ${binary} PARENT_SCOPE)
endfunction()

set(FOREIGN_BINARIES "")
function(cpl_foreign_probes platform folder tuple suffix compiler)
  set(foreign_folder ${folder})
  set(foreign_tuple ${tuple})
  set(foreign_suffix ${suffix})
  set(foreign_compiler ${compiler})
  set(foreign_flags ${ARGN})
  set(there ${FOREIGN_PROBES}/${platform})
  configure_file(fmi/probe.xml ${there}/probe/modelDescription.xml COPYONLY)
  configure_file(fmi/probe1_me.xml ${there}/probe1_me/modelDescription.xml COPYONLY)
  configure_file(fmi/probe1_cs.xml ${there}/probe1_cs/modelDescription.xml COPYONLY)
  configure_file(fmi/probe3.xml ${there}/probe3/modelDescription.xml COPYONLY)
  configure_file(fmi/probe_se.xml ${there}/probe_se/modelDescription.xml COPYONLY)
  cpl_foreign_probe(${platform} probe 2 fmi/probe_fmu.c)
  cpl_foreign_probe(${platform} probe 2 fmi/probe_fmu.c PROBE_EXTRAS)
  cpl_foreign_probe(${platform} probe 2 fmi/probe_fmu.c PROBE_BARE)
  cpl_foreign_probe(${platform} probe 2 fmi/probe_fmu.c PROBE_BROKEN)
  cpl_foreign_probe(${platform} probe1_me 1 fmi/probe1_fmu.c)
  cpl_foreign_probe(${platform} probe1_cs 1 fmi/probe1_fmu.c)
  cpl_foreign_probe(${platform} probe3 3 fmi/probe3_fmu.c)
  cpl_foreign_probe(${platform} probe_se 3 fmi/probe_se_fmu.c)
  set(FOREIGN_BINARIES ${FOREIGN_BINARIES} PARENT_SCOPE)
  foreach(test fmi1_model fmi1_stepper fmi2_model fmi2_stepper fmi3_clocks fmi3_rollback fmi3_scheduled fmi3_stepper fmi3_values)
    set(name foreign/${platform}/${test})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/work/${name})
    add_test(NAME ${name} COMMAND ${OWN_FOLDER} $<TARGET_FILE:test_fmi_${test}>
      WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/work/${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT
      "COUPLET=$<TARGET_FILE:couplet_cli>;COUPLET_PROBE=${there}/probe;COUPLET_FOREIGN_PLATFORM=${platform};PROBE_FAULT_FILE=fault.txt")
  endforeach()
endfunction()

find_program(CPL_WINE64 wine64 PATHS /usr/lib/wine)
find_program(CPL_WINE32 wine PATHS /usr/lib/wine NO_DEFAULT_PATH)
if(CPL_FOREIGN AND CPL_MINGW64 AND CPL_WINE64)
  cpl_foreign_probes(win64 win64 x86_64-windows .dll ${CPL_MINGW64} -static -s)
endif()
if(CPL_FOREIGN AND CPL_MINGW32 AND CPL_WINE32)
  cpl_foreign_probes(win32 win32 x86-windows .dll ${CPL_MINGW32} -static -s -msse2 -mfpmath=sse)
endif()
if(CPL_FOREIGN AND CPL_LINUX32)
  cpl_foreign_probes(linux32 linux32 x86-linux .so ${CMAKE_C_COMPILER} -m32 -fPIC -msse2 -mfpmath=sse -lm)
endif()
add_custom_target(foreign_probes ALL DEPENDS ${FOREIGN_BINARIES})
add_dependencies(test_cli_other_platforms foreign_probes couplet_hosts probe probe1 probe3 probe_se)
