// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states. One holds all that moves: the model's numbers, sides, memory and texts, and for
// co-simulation the time; never the history of the integrator, which begins anew at every step, so
// that going back changes no bit.
#include "export/runtime/fmu.h"

// What is saved beside the model or stepper itself. All of it becomes bytes.
typedef struct frame {
  cpl_setup setup;
  double time, reached;
  uint32_t state;
  bool stepping;  // of a stepper, not of the model
  bool stop_at_events, end_wanted;
} frame;

typedef struct saved {
  cpl_snapshot part;
  frame frame;
  double slopes[];  // nu
} saved;

static saved* make(fmu* f) {
  saved* s = cpli_alloc(f->ctx, 1, sizeof *s + f->cm->at.nu * sizeof(double));
  if (s == NULL) cpli_nomem(f->ctx);
  return s;
}

// States of the model and of the stepper are released by what saved them, or by its like.
static cpl_component* keeper(fmu* f, const saved* s) {
  if (!s->frame.stepping) return f->model != NULL ? &f->model->base : NULL;
  if (f->stepper == NULL && fmu_make_stepper(f) < 0) return NULL;
  return &f->stepper->base;
}

static void drop(fmu* f, saved* s) {
  if (s == NULL) return;
  cpl_component* part = keeper(f, s);
  if (part != NULL) part->ops->forget(part, &s->part);
  cpli_free(f->ctx, s);
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || state == NULL || f->model == NULL) return fmi2Error;
  bool stepping = f->stepper != NULL;
  saved* s = *state;
  if (s != NULL && s->frame.stepping != stepping) {
    drop(f, s);
    *state = s = NULL;
  }
  if (s == NULL) s = make(f);
  if (s == NULL) return fmu_result(f, __func__, CPL_ERR_NOMEM);
  s->frame.setup = f->setup;
  s->frame.time = f->time;
  s->frame.reached = f->reached;
  s->frame.state = f->state;
  s->frame.stepping = stepping;
  s->frame.stop_at_events = f->stop_at_events;
  s->frame.end_wanted = f->end_wanted;
  if (f->cm->at.nu > 0) memcpy(s->slopes, f->input_slopes, f->cm->at.nu * sizeof(double));
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->save(part, &s->part);
  if (st >= 0) *state = s;
  else if (*state == NULL) drop(f, s);
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || f->model == NULL) return fmi2Error;
  const saved* s = state;
  if (s == NULL || s->part.data == NULL) return fmu_refuse(f, __func__, "there is no state");
  cpl_component* part = keeper(f, s);
  cpl_status st = part != NULL ? part->ops->restore(part, &s->part) : CPL_ERR_NOMEM;
  if (st >= 0) f->time = s->frame.time;
  if (st >= 0) st = fmu_hold_inputs(f);
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, __func__, st);
  }
  f->setup = s->frame.setup;
  f->reached = s->frame.reached;
  f->state = s->frame.state;
  f->stop_at_events = s->frame.stop_at_events;
  f->end_wanted = s->frame.end_wanted;
  if (f->cm->at.nu > 0) memcpy(f->input_slopes, s->slopes, f->cm->at.nu * sizeof(double));
  return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || state == NULL) return fmi2Error;
  drop(f, *state);
  *state = NULL;
  return fmi2OK;
}

//------------------------------------ bytes ------------------------------------

// A mark, the GUID, the frame and the slopes stand before the bytes of the model or stepper.
static const char mark[8] = "couplet";
enum { GUID_SIZE = 40 };

static size_t head_size(const fmu* f) {
  return sizeof mark + GUID_SIZE + sizeof(frame) + f->cm->at.nu * sizeof(double);
}

static size_t part_bytes(fmu* f, const saved* s, unsigned char* bytes) {
  return s->frame.stepping ? fmu_serialize_stepper(f, &s->part, bytes)
                           : cpli_cmodel_serialize(f->model, &s->part, bytes);
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t* size) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || state == NULL || size == NULL || f->model == NULL) return fmi2Error;
  const saved* s = state;
  if (keeper(f, s) == NULL) return fmu_result(f, __func__, CPL_ERR_NOMEM);
  *size = head_size(f) + part_bytes(f, s, NULL);
  return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[],
                                 size_t size) {
  size_t needed = 0;
  if (fmi2SerializedFMUstateSize(c, state, &needed) != fmi2OK) return fmi2Error;
  fmu* f = c;
  const saved* s = state;
  if (bytes == NULL || size < needed) {
    return fmu_refuse(f, __func__, "%lu bytes are too few for a state of %lu", (unsigned long)size,
                      (unsigned long)needed);
  }
  char guid[GUID_SIZE] = "";
  char* to = bytes;
  memcpy(guid, cpl_fmu_guid, strlen(cpl_fmu_guid));
  memcpy(to, mark, sizeof mark), to += sizeof mark;
  memcpy(to, guid, sizeof guid), to += sizeof guid;
  memcpy(to, &s->frame, sizeof s->frame), to += sizeof s->frame;
  memcpy(to, s->slopes, f->cm->at.nu * sizeof(double));
  part_bytes(f, s, (unsigned char*)bytes + head_size(f));
  return fmi2OK;
}

static bool read_head(const fmu* f, const fmi2Byte bytes[], size_t size, frame* out) {
  if (size < head_size(f) || memcmp(bytes, mark, sizeof mark) != 0 ||
      strncmp(bytes + sizeof mark, cpl_fmu_guid, GUID_SIZE) != 0) {
    return false;
  }
  memcpy(out, bytes + sizeof mark + GUID_SIZE, sizeof *out);
  bool steps = f->type == fmi2CoSimulation;
  return steps || !out->stepping;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                   fmi2FMUstate* state) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || state == NULL || bytes == NULL || f->model == NULL) return fmi2Error;
  frame there;
  if (!read_head(f, bytes, size, &there)) {
    return fmu_refuse(f, __func__, "these %lu bytes are no saved state of this FMU",
                      (unsigned long)size);
  }
  saved* s = make(f);
  if (s == NULL) return fmu_result(f, __func__, CPL_ERR_NOMEM);
  s->frame = there;
  size_t before = head_size(f), slopes = f->cm->at.nu * sizeof(double);
  memcpy(s->slopes, bytes + before - slopes, slopes);
  const unsigned char* rest = (const unsigned char*)bytes + before;
  cpl_status st = CPL_ERR_NOMEM;
  if (keeper(f, s) != NULL) {
    st = there.stepping ? fmu_deserialize_stepper(f, rest, size - before, &s->part)
                        : cpli_cmodel_deserialize(f->model, rest, size - before, &s->part);
  }
  if (st < 0) {
    drop(f, s);
    return fmu_result(f, __func__, st);
  }
  drop(f, *state);
  *state = s;
  return fmi2OK;
}
