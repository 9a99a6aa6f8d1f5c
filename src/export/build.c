// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds an FMU from a model in C: the model is opened and described, its sources are collected and
// compiled together with the runtime, and the archive is written. The same model gives the same
// bytes; the GUID is a hash of the description and of all sources.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/data.h"
#include "base/process.h"
#include "couplet/csource.h"
#include "couplet/experiment.h"
#include "couplet/export.h"
#include "couplet/solver.h"
#include "export/archive.h"
#include "export/system_fmu.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/source_loc.h"

#define TANGENT_FILE "model_tangent.c"

// The data of an FMU that is being built.
typedef struct job {
  cpl_context* ctx;
  const cpl_build_def* def;
  char* model;       // its name for the compiler
  const char* data;  // couplet's data folder
  char include[PATH_MAX];
  char* folder;  // temporary
  cpl_source* source;
  const char** c_files;  // the names of the sources that are compiled
  char* tangent;         // the text of the tangent functions
  cpli_fmu_archive fmu;
  cpli_writer config, build_description;
} job;

void cpl_init_build_def(cpl_build_def* def, size_t size) {
  const cpl_build_def all = {.fmi_version = 2};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ configuration ------------------------------------

static const char* const kind_names[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
static_assert(CPLI_COUNT(kind_names) == CPL_KIND_DISCRETE + 1, "cpl_dependency_kind");

static bool can_list_names(const cpl_description* d) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (strpbrk(d->vars[i].name, " \t\n") != NULL) return false;
  }
  return true;
}

static void write_dependencies(cpli_writer* w, const cpl_description* d, const cpl_unknown* u,
                               int kind) {
  const cpl_structure* s = &d->structure;
  bool any = false, first_kind = kind == 0;
  for (int32_t i = 0; i < u->count; i++) any = any || s->kinds[u->first + i] == kind;
  if (!any && !(first_kind && u->count == 0)) return;
  cpli_write(w, "    {");
  cpli_write_literal(w, d->vars[u->var].name);
  cpli_write(w, ", \"\"");  // concatenated literals: compilers limit the length of lines
  for (int32_t i = 0; i < u->count; i++) {
    if (s->kinds[u->first + i] != kind) continue;
    cpli_write(w, "\n     \" \" ");
    cpli_write_literal(w, d->vars[s->deps[u->first + i]].name);
  }
  cpli_writef(w, ", \"%s\"},\n", kind_names[kind]);
}

// The dependencies detected when the FMU was built, so that instances need not detect them again.
static cpl_status write_config(job* j) {
  const cpl_description* d = j->fmu.facts.desc;
  const cpl_structure* s = &d->structure;
  cpli_writer* w = &j->config;
  bool listed = can_list_names(d);
  cpli_write(w, "// Written by couplet build.\n#include \"couplet_model.h\"\n\n");
  cpli_write(w, "extern const char cpl_fmu_guid[];\n");
  cpli_write(w, "extern const cpl_dependency* const cpl_fmu_dependencies;\n\n");
  cpli_writef(w, "const char cpl_fmu_guid[] = \"%s\";\n\n", j->fmu.guid);
  if (listed) cpli_write(w, "static const cpl_dependency dependencies[] = {\n");
  for (int32_t i = 0; listed && i < s->n_derivatives + s->n_outputs; i++) {
    const cpl_unknown* u =
        i < s->n_derivatives ? &s->derivatives[i] : &s->outputs[i - s->n_derivatives];
    // states and discrete variables that are outputs depend on themselves, which is not listed
    if (i >= s->n_derivatives && d->vars[u->var].initial != CPL_INITIAL_CALCULATED) continue;
    for (int kind = 0; kind < (int)CPLI_COUNT(kind_names); kind++) {
      write_dependencies(w, d, u, kind);
    }
  }
  if (listed) cpli_write(w, "    {NULL, NULL, NULL}};\n\n");
  cpli_writef(w, "const cpl_dependency* const cpl_fmu_dependencies = %s;\n",
              listed ? "dependencies" : "NULL");
  return cpli_writer_status(w);
}

//------------------------------------ binary ------------------------------------

#define FMU_FLAGS                                                                                \
  "-std=c17", "-O2", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden", "-ffunction-sections", \
      "-fdata-sections"

// The model, with its tangent functions behind it, is compiled with the flags couplet run uses, so
// that both compute the same bits.
static cpl_status compile_model(job* j, const char* object) {
  char tangent[PATH_MAX + 32];
  snprintf(tangent, sizeof tangent, "%s/" TANGENT_FILE, j->folder);
  const char* args[] = {FMU_FLAGS, "-c",       "-I",     j->include, "-o",
                        object,    "-include", j->model, tangent,    NULL};
  cpl_status st = cpli_file_make(j->ctx, tangent, j->tangent, strlen(j->tangent));
  return st < 0 ? st : cpli_run_compiler(j->ctx, j->def->model, args);
}

static cpl_status compile(job* j) {
  char config[PATH_MAX + 32], library[PATH_MAX + 32], runtime[PATH_MAX + 32];
  char archive[PATH_MAX + 32], script[PATH_MAX + 64], flat[PATH_MAX + 32];
  char object[PATH_MAX + 32];
  snprintf(config, sizeof config, "%s/fmu_config.c", j->folder);
  snprintf(library, sizeof library, "%s/fmu.so", j->folder);
  snprintf(object, sizeof object, "%s/model.o", j->folder);
  snprintf(runtime, sizeof runtime, "%s/fmu_runtime.o", j->data);
  snprintf(archive, sizeof archive, "%s/libcouplet_fmu.a", j->data);
  snprintf(script, sizeof script, "--version-script=%s/fmu%d.map", j->data, j->fmu.facts.fmi);
  snprintf(flat, sizeof flat, "%s/fmu_sources", j->data);
  const char* args[] = {FMU_FLAGS,
                        "-shared",
                        "-I",
                        flat,
                        "-o",
                        library,
                        object,
                        config,
                        runtime,
                        archive,
                        "-lm",
                        "-Xlinker",  // the name may have commas
                        script,
                        "-Wl,--exclude-libs,ALL",
                        "-Wl,-z,defs",
                        "-Wl,-z,text",
                        "-Wl,--gc-sections",
                        "-Wl,-s",
                        NULL};
  cpl_status st = compile_model(j, object);
  if (st >= 0) st = cpli_file_make(j->ctx, config, j->config.text, j->config.len);
  if (st >= 0) st = cpli_run_compiler(j->ctx, j->def->model, args);
  if (st >= 0) {
    st = cpli_file_read(j->ctx, library, (size_t)1 << 30, &j->fmu.binary, &j->fmu.binary_size);
  }
  return st;
}

//------------------------------------ steps ------------------------------------

// True when the model requests a time event at its start. One that fails to start requests none.
static bool requests_time_event(cpl_model* m) {
  enum { MAX_ROUNDS = 1000 };
  cpl_component* c = &m->base;
  cpl_setup setup = {.size = sizeof(cpl_setup), .start_time = c->desc->experiment.start};
  cpl_event_info info = {.again = true, .next_time = INFINITY};
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  for (int i = 0; st == CPL_OK && info.again && i < MAX_ROUNDS; i++) {
    st = m->ops->event_update(m, &info);
  }
  return st == CPL_OK && isfinite(info.next_time);
}

// Of the stepper that the FMU makes for co-simulation (runtime/c_model.c).
static cpl_status find_step_capabilities(job* j, cpl_capabilities* can) {
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.restart_each_step = true;
  cpl_status st = j->source->ops->make_model(j->source, "stepper", &m);
  if (st < 0) return st;
  st = cpl_integrate(m, &def, &s);
  if (st < 0) return st;
  *can = s->base.can;
  s->base.ops->destroy(&s->base);
  return CPL_OK;
}

static cpl_status open_model(job* j) {
  cpl_model* m = NULL;
  cpl_capabilities step_can;
  j->data = cpli_data_folder(j->ctx);
  if (j->data == NULL) return CPL_ERR_INPUT;
  snprintf(j->include, sizeof j->include, "%s/include", j->data);
  j->model = cpli_file_argument(j->ctx, j->def->model);
  if (j->model == NULL) return cpli_nomem(j->ctx);
  cpl_status st = cpl_c_open(j->ctx, j->def->model, &j->source);
  if (st >= 0) st = find_step_capabilities(j, &step_can);
  if (st >= 0) st = j->source->ops->make_model(j->source, "model", &m);
  if (st < 0) return st;
  const cpl_constraint_ops* constraints = m->ops->constraints;
  j->fmu.facts =
      (cpli_fmu_facts){.fmi = j->def->fmi_version,
                       .desc = j->source->desc,
                       .model_exchange = true,
                       .co_simulation = true,
                       .can = m->base.can,
                       .step_can = step_can,
                       .time_events = j->def->fmi_version == 3 && requests_time_event(m),
                       .constraint_jacobian = constraints != NULL && constraints->jacobian != NULL,
                       .constraint_attributes = j->def->constraint_attributes};
  cpli_fmu_archive_name(&j->fmu, j->source->desc->name);
  m->base.ops->destroy(&m->base);
  return CPL_OK;
}

// The tangent functions are behind the source of the model in its file, too. couplet makes them
// anew where it compiles that file.
static cpl_status add_tangent(job* j) {
  cpli_source_file* model = &j->fmu.sources.items[0];
  cpl_status st = cpli_model_tangent_text(j->source, &j->tangent);
  if (st < 0) return st;
  char* both = cpli_printf(j->ctx,
                           "%s\n// Written by couplet build.\n"
                           "#ifndef CPL_RECORD_MODEL_VERSION%s#endif\n",
                           model->text, j->tangent);
  if (both == NULL) return cpli_nomem(j->ctx);
  cpli_free(j->ctx, model->text);
  model->text = both;
  model->size = strlen(both);
  return CPL_OK;
}

static cpl_status collect_sources(job* j) {
  char flat[PATH_MAX + 32], headers[PATH_MAX + 32], licenses[PATH_MAX + 32];
  snprintf(flat, sizeof flat, "%s/fmu_sources", j->data);
  snprintf(licenses, sizeof licenses, "%s/fmu_licenses", j->data);
  snprintf(headers, sizeof headers, "%s/include/fmi", j->data);
  cpl_status st = cpli_collect_model(&j->fmu.sources, j->def->model, j->include, j->folder, true);
  if (st >= 0) st = add_tangent(j);
  if (st >= 0)
    st = cpli_collect_folder(&j->fmu.sources, flat, NULL, cpli_fmu_other_version(j->fmu.facts.fmi));
  if (st >= 0 && j->fmu.facts.fmi == 3)
    st = cpli_collect_folder(&j->fmu.sources, headers, "fmi3", NULL);
  if (st >= 0) st = cpli_collect_folder(&j->fmu.licenses, licenses, NULL, NULL);
  if (st < 0) return st;
  j->c_files = cpli_alloc(j->ctx, j->fmu.sources.n + 1, sizeof *j->c_files);
  if (j->c_files == NULL) return cpli_nomem(j->ctx);
  size_t n = 0;
  for (size_t i = 0; i < j->fmu.sources.n; i++) {
    const char* name = j->fmu.sources.items[i].name;
    size_t len = strlen(name);
    if (len > 2 && strcmp(name + len - 2, ".c") == 0) j->c_files[n++] = name;
  }
  j->c_files[n++] = "fmu_config.c";
  j->fmu.facts.source_files = j->c_files;
  j->fmu.facts.n_source_files = n;
  return CPL_OK;
}

static cpl_status add_build_description(job* j) {
  cpl_status st = cpli_write_build_description(&j->build_description, &j->fmu.facts);
  return st < 0 ? st
                : cpli_collect_text(&j->fmu.sources, "buildDescription.xml",
                                    j->build_description.text);
}

static cpl_status build_model(cpl_context* ctx, const cpl_build_def* def, char* output,
                              size_t size) {
  job j = {.ctx = ctx, .def = def, .config = {.ctx = ctx}, .build_description = {.ctx = ctx}};
  cpli_fmu_archive_init(&j.fmu, ctx);

  // the files of the archive
  cpl_status st = open_model(&j);
  if (st >= 0) st = cpli_temp_folder_make(ctx, &j.folder);
  if (st >= 0) st = collect_sources(&j);
  if (st >= 0) st = cpli_fmu_archive_identify(&j.fmu);

  // what is made of it
  if (st >= 0) st = write_config(&j);
  if (st >= 0) st = cpli_collect_text(&j.fmu.sources, "fmu_config.c", j.config.text);
  if (st >= 0 && j.fmu.facts.fmi == 3) st = add_build_description(&j);
  if (st >= 0) st = compile(&j);
  if (st >= 0) st = cpli_fmu_archive_write(&j.fmu, def->output, output, size);

  if (j.folder != NULL) cpli_temp_folder_remove(ctx, j.folder);
  cpli_free(ctx, j.folder);
  cpli_free(ctx, j.model);
  cpli_free(ctx, j.c_files);
  cpli_free(ctx, j.tangent);
  cpli_writer_free(&j.config);
  cpli_writer_free(&j.build_description);
  cpli_fmu_archive_free(&j.fmu);
  if (j.source != NULL) j.source->ops->destroy(j.source);
  return st;
}

//------------------------------------ what it is made of ------------------------------------

cpl_status cpl_fmu_build(cpl_context* ctx, const cpl_build_def* given, char* output, size_t size) {
  cpl_build_def def = cpl_default_build_def();
  cpl_status st = cpli_read_def(ctx, "cpl_build_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.fmi_version != 2 && def.fmi_version != 3)
    return cpl_fail(ctx, CPL_ERR_INPUT, "FMI %d.0 cannot be written; 2 and 3 can", def.fmi_version);
  if (cpli_ends_with(def.model, ".c")) return build_model(ctx, &def, output, size);
  if (cpli_ends_with(def.model, ".config"))
    return cpli_fail_file(ctx, CPL_ERR_UNSUPPORTED, def.model,
                          "one sub-model that waits for a manager cannot become an FMU; its "
                          "composite model (.xml) can");
  if (cpl_is_system_path(def.model)) return cpli_system_fmu_build(ctx, &def, output, size);
  return cpli_fail_file(ctx, CPL_ERR_INPUT, def.model,
                        "an FMU is made of a model in C or of a system: of a name that ends in .c, "
                        ".yaml, .xml, .ssp or .ssd");
}
