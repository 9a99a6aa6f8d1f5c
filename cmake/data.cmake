# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
set(CPL_DATA "${CMAKE_BINARY_DIR}/lib/couplet")
file(GLOB FMI_HEADERS CONFIGURE_DEPENDS src/fmi/headers/*.h)
configure_file(include/couplet/model.h ${CPL_DATA}/include/couplet/model.h COPYONLY)
foreach(header ${FMI_HEADERS})
  get_filename_component(name ${header} NAME)
  configure_file(${header} ${CPL_DATA}/include/fmi/${name} COPYONLY)
endforeach()

#------------------------------------ what couplet build links ------------------------------------

# Compiled apart from the library where its objects are instrumented: neither sanitizers nor coverage may get into an
# FMU. Otherwise FMUs contain the objects of the library, apart from the sources that depend on CPL_FMU_PARTS or
# CPL_THREADS.
set(FMU_OPTIONS -O2 -g0 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
  -ffp-contract=off -fno-math-errno -Wall -Wextra)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND FMU_OPTIONS -Wno-format-truncation)
endif()

file(GLOB FMU_PARTS CONFIGURE_DEPENDS src/base/*.c src/numeric/*.c src/model/cmodel*.c
  src/model/component.c src/model/dependencies.c src/model/description.c src/model/adopt.c src/model/inspect.c src/model/sparsity.c
  src/model/jacobian.c src/model/jumps.c src/model/router.c src/model/serial.c src/model/shared_desc.c src/solver/*.c)
list(FILTER FMU_PARTS EXCLUDE REGEX "/base/(channel|child|data|fiber|link|link_serve|link_wire|loaded|process|ranks|shared|thread_pool)\\.c$|/numeric/(followers|front_kernels|fronts|klu|left_looking|sparse|sparse_lu)\\.c$|/solver/(arkode|history|ida|rk87|sample)\\.c$")
set(FMU_OBJECTS "")
if(CPL_PLAIN)
  set(own "/base/(context|parallel)\\.c$|/solver/(integrate|linear|methods|radau)\\.c$")
  set(common ${FMU_PARTS})
  list(FILTER common EXCLUDE REGEX "${own}")
  list(FILTER FMU_PARTS INCLUDE REGEX "${own}")
  set_property(SOURCE ${common} APPEND PROPERTY COMPILE_OPTIONS -ffunction-sections -fdata-sections)
  list(TRANSFORM common REPLACE "^.*(/src/.*)$" "\\1[.]o")
  list(JOIN common "|" common)
  set(FMU_OBJECTS "$<FILTER:$<TARGET_OBJECTS:couplet_objects>,INCLUDE,${common}>")
endif()
add_library(couplet_fmu_parts STATIC ${FMU_PARTS} ${FMU_OBJECTS})
target_include_directories(couplet_fmu_parts PRIVATE include src)
target_compile_definitions(couplet_fmu_parts PRIVATE CPL_FMU_PARTS)

# Objects, not an archive: --exclude-libs would hide the FMI functions too.
file(GLOB FMU_RUNTIME CONFIGURE_DEPENDS src/export/runtime/*.c)
file(GLOB SYSTEM_RUNTIME CONFIGURE_DEPENDS src/export/runtime/system*.c)
list(REMOVE_ITEM FMU_RUNTIME ${SYSTEM_RUNTIME})
list(FILTER FMU_RUNTIME EXCLUDE REGEX "/portable_[a-z]+\\.c$") # for FMUs of sources
add_library(couplet_fmu_runtime OBJECT ${FMU_RUNTIME})
target_include_directories(couplet_fmu_runtime PRIVATE include src src/fmi/headers)
target_compile_definitions(couplet_fmu_runtime PRIVATE CPL_FMU_CO_SIMULATION)

foreach(target couplet_fmu_parts couplet_fmu_runtime)
  set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "${FMU_OPTIONS}")
  target_include_directories(${target} SYSTEM PRIVATE "${CPL_DEPS}/sundials/include")
endforeach()

add_custom_command(OUTPUT ${CPL_DATA}/fmu_runtime.o
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${CPL_DATA}/fmu_runtime.o
    $<TARGET_OBJECTS:couplet_fmu_runtime>
  DEPENDS couplet_fmu_runtime $<TARGET_OBJECTS:couplet_fmu_runtime>
  COMMAND_EXPAND_LISTS VERBATIM)

# ar's scripts cannot name files with blanks or signs in their path, so it works on copies.
set(script "CREATE libcouplet_fmu.a\nADDLIB parts.a\n")
foreach(part ${SUNDIALS_LIBS})
  get_filename_component(name ${part} NAME)
  string(APPEND script "ADDLIB ${name}\n")
endforeach()
set(merge_folder ${CMAKE_BINARY_DIR}/CMakeFiles/couplet_fmu_merge)
file(WRITE ${merge_folder}/merge.mri "${script}SAVE\nEND\n")
add_custom_command(OUTPUT ${CPL_DATA}/libcouplet_fmu.a
  COMMAND ${CMAKE_COMMAND} -E copy ${SUNDIALS_LIBS} ${merge_folder}
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:couplet_fmu_parts> ${merge_folder}/parts.a
  COMMAND ${CMAKE_AR} -M < merge.mri
  COMMAND ${CMAKE_COMMAND} -E copy libcouplet_fmu.a ${CPL_DATA}/libcouplet_fmu.a
  WORKING_DIRECTORY ${merge_folder}
  DEPENDS couplet_fmu_parts ${SUNDIALS_LIBS})

#------------------------------------ the binary of FMUs of systems ------------------------------------

# One for all systems: they differ in what it reads from their resources. The linker takes what it needs from the
# library; functions that open files are replaced (runtime/system_files.c), so that no reader of XML, YAML or archives is
# in it.
list(FILTER FMU_RUNTIME EXCLUDE REGEX "/c_model\\.c$")
add_library(couplet_system_runtime OBJECT ${FMU_RUNTIME} ${SYSTEM_RUNTIME})
target_include_directories(couplet_system_runtime PRIVATE include src src/fmi/headers)
target_include_directories(couplet_system_runtime SYSTEM PRIVATE "${CPL_DEPS}/sundials/include")
target_compile_definitions(couplet_system_runtime PRIVATE CPL_FMU_CO_SIMULATION)
set_target_properties(couplet_system_runtime PROPERTIES COMPILE_OPTIONS "${FMU_OPTIONS}")
set(system_fmus "")
foreach(version 2 3)
  add_library(couplet_system_fmu${version} MODULE $<TARGET_OBJECTS:couplet_system_runtime>)
  add_dependencies(couplet_system_fmu${version} couplet)
  target_link_libraries(couplet_system_fmu${version} PRIVATE $<TARGET_FILE:couplet> ${SUNDIALS_LIBS} m)
  target_link_options(couplet_system_fmu${version} PRIVATE
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/export/runtime/fmu${version}.map
    -Wl,-z,text -Wl,--gc-sections -Wl,-s)
  if(NOT CPL_SANITIZE) # the sanitizers' runtime is part of the importer
    target_link_options(couplet_system_fmu${version} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(couplet_system_fmu${version} PROPERTIES PREFIX "" OUTPUT_NAME system_fmu${version}
    LIBRARY_OUTPUT_DIRECTORY ${CPL_DATA} LINK_DEPENDS "$<TARGET_FILE:couplet>")
  list(APPEND system_fmus couplet_system_fmu${version})
endforeach()

foreach(version 2 3)
  configure_file(src/export/runtime/fmu${version}.map ${CPL_DATA}/fmu${version}.map COPYONLY)
endforeach()

#------------------------------------ what couplet build ships ------------------------------------

# For model exchange: everything a C compiler needs but the FMI headers, which FMUs of FMI 3.0 get
# too. couplet build leaves out the files of the other version (by fmi2 or fmi3 in their names).
set(FMU_SOURCES
  include/couplet/base.h include/couplet/interface.h include/couplet/model.h
  src/base/base.h src/base/options.h src/base/context.c src/base/error.c src/base/error.h src/base/log_queue.h src/base/fiber.h src/base/thread_pool.h
  src/base/memory.c src/base/names.c src/tangent/result.h src/model/tangent_type.h
  src/model/cmodel.h src/model/cmodel_instance.h src/model/cmodel.c src/model/cmodel_constraints.c
  src/numeric/manifold.h src/numeric/manifold.c src/model/cmodel_describe.c src/model/dependencies.c
  src/numeric/lu.h src/numeric/lu.c src/numeric/algebra.h src/numeric/algebra.c
  src/model/cmodel_batch.c src/model/cmodel_directional.c src/model/cmodel_residuals.c src/model/cmodel_saved.c src/model/serial.h src/model/serial.c)
foreach(name fmu.h c_model.c instance.c start.c values.c state.c model_exchange.c constraints.c fmi2_functions.c references.h
    fmi3_functions.c fmi3_values.c)
  list(APPEND FMU_SOURCES src/export/runtime/${name})
endforeach()
list(TRANSFORM FMU_SOURCES PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE fmu_source_paths)
add_custom_command(OUTPUT ${CPL_DATA}/fmu_sources/base_base.h
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CPL_DATA}/fmu_sources
    -DVERSION=${PROJECT_VERSION} "-DFILES=${FMU_SOURCES}" -P ${CMAKE_SOURCE_DIR}/cmake/flatten.cmake
  DEPENDS ${fmu_source_paths} ${CMAKE_SOURCE_DIR}/cmake/flatten.cmake
  VERBATIM)

# The same for systems of models in C: what builds and evaluates an aggregate, without files, threads, steppers, modes,
# delay lines and integrators (runtime/portable_parts.c is in their place). Headers are found by #include.
file(GLOB SYSTEM_SOURCES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
  src/aggregate/*.c src/expr/*.c src/graph/*.c src/model/cmodel*.c src/export/runtime/portable_*.c)
list(FILTER SYSTEM_SOURCES EXCLUDE REGEX "/aggregate/(newton|linear|descriptor|kept_descriptor)\\.c$")
foreach(name assemble/bridges assemble/build assemble/fixed assemble/follow assemble/function assemble/inputs assemble/open assemble/starts
    base/context base/error base/memory base/names base/parallel export/plan export/plan_system format/image format/source_loc
    model/adopt model/component model/curve model/dependencies model/description model/image model/inspect model/jacobian
    model/jumps model/router model/serial model/shared_desc model/sparsity model/start model/table model/units
    numeric/algebra numeric/dense numeric/lu numeric/manifold numeric/pattern numeric/roots
    system/constraints system/cosimulation system/define system/definition system/image system/links system/resolve
    system/transform)
  list(APPEND SYSTEM_SOURCES src/${name}.c)
endforeach()
foreach(name constraints fmi2_functions fmi3_functions fmi3_values instance model_exchange start state system_files values)
  list(APPEND SYSTEM_SOURCES src/export/runtime/${name}.c)
endforeach()
list(TRANSFORM SYSTEM_SOURCES PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE system_source_paths)
file(GLOB all_headers CONFIGURE_DEPENDS include/couplet/*.h src/*/*.h src/export/runtime/*.h)
add_custom_command(OUTPUT ${CPL_DATA}/system_sources/base_base.h
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CPL_DATA}/system_sources -DFOLLOW=ON
    -DVERSION=${PROJECT_VERSION} "-DFILES=${SYSTEM_SOURCES}" -P ${CMAKE_SOURCE_DIR}/cmake/flatten.cmake
  DEPENDS ${system_source_paths} ${all_headers} ${CMAKE_SOURCE_DIR}/cmake/flatten.cmake
  VERBATIM)

add_custom_target(couplet_data ALL DEPENDS ${CPL_DATA}/fmu_runtime.o ${CPL_DATA}/libcouplet_fmu.a
  ${CPL_DATA}/fmu_sources/base_base.h ${CPL_DATA}/system_sources/base_base.h)
add_dependencies(couplet_cli couplet_data ${system_fmus})
