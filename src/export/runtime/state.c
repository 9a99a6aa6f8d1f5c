// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states. One contains all that changes: the model's numbers, sides, memory and texts, and
// for co-simulation the time; not the history of the integrator, which restarts at every step, so
// that a rollback changes no bit.
#include <assert.h>

#include "export/runtime/fmu.h"

// State in addition to that of the model or stepper. All of it is serialized.
typedef struct frame {
  cpl_setup setup;
  double time, reached;
  uint32_t state;
  bool stepping;  // of a stepper, not of the model
  bool stop_at_events, leave_events, update_due, end_wanted;
} frame;

typedef struct saved {
  cpl_snapshot part;
  frame frame;
  double derivatives[];  // of inputs: FMU_ORDERS * nu
} saved;

static size_t derivatives_size(const fmu* f) { return FMU_ORDERS * f->cm->at.nu * sizeof(double); }

static saved* make(fmu* f) {
  saved* s = cpli_alloc(f->ctx, 1, sizeof *s + derivatives_size(f));
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

fmu_status fmu_save(fmu* f, const char* function, void** state) {
  if (state == NULL || f->model == NULL) return FMU_ERROR;
  bool stepping = f->stepper != NULL;
  saved* s = *state;
  if (s != NULL && s->frame.stepping != stepping) {
    drop(f, s);
    *state = s = NULL;
  }
  if (s == NULL) s = make(f);
  if (s == NULL) return fmu_result(f, function, CPL_ERR_NOMEM);
  s->frame.setup = f->setup;
  s->frame.time = f->time;
  s->frame.reached = f->reached;
  s->frame.state = f->state;
  s->frame.stepping = stepping;
  s->frame.stop_at_events = f->stop_at_events;
  s->frame.leave_events = f->leave_events;
  s->frame.update_due = f->update_due;
  s->frame.end_wanted = f->end_wanted;
  if (f->cm->at.nu > 0) memcpy(s->derivatives, f->input_derivatives, derivatives_size(f));
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->save(part, &s->part);
  if (st >= 0) *state = s;
  else if (*state == NULL) drop(f, s);
  return fmu_result(f, function, st);
}

fmu_status fmu_restore(fmu* f, const char* function, void* state) {
  if (f->model == NULL) return FMU_ERROR;
  const saved* s = state;
  if (s == NULL || s->part.data == NULL) return fmu_refuse(f, function, "there is no state");
  cpl_component* part = keeper(f, s);
  cpl_status st = part != NULL ? part->ops->restore(part, &s->part) : CPL_ERR_NOMEM;
  if (st >= 0) f->time = s->frame.time;
  if (st >= 0) st = fmu_hold_inputs(f);
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, function, st);
  }
  f->setup = s->frame.setup;
  f->reached = s->frame.reached;
  f->state = s->frame.state;
  f->stop_at_events = s->frame.stop_at_events;
  f->leave_events = s->frame.leave_events;
  f->update_due = s->frame.update_due;
  f->end_wanted = s->frame.end_wanted;
  if (f->cm->at.nu > 0) memcpy(f->input_derivatives, s->derivatives, derivatives_size(f));
  return FMU_OK;
}

fmu_status fmu_forget(fmu* f, void** state) {
  if (state == NULL) return FMU_ERROR;
  drop(f, *state);
  *state = NULL;
  return FMU_OK;
}

//------------------------------------ bytes ------------------------------------

// A mark, the GUID, the frame and the derivatives of inputs precede the bytes of the model or
// stepper.
static const char mark[8] = "couplet";
enum { GUID_SIZE = 40 };
static_assert((sizeof mark + GUID_SIZE) % sizeof(double) == 0 &&
                  sizeof(frame) % sizeof(double) == 0,
              "what follows the head in the bytes of a state is aligned");

static size_t head_size(const fmu* f) {
  return sizeof mark + GUID_SIZE + sizeof(frame) + derivatives_size(f);
}

static size_t part_bytes(fmu* f, const saved* s, unsigned char* bytes) {
  return s->frame.stepping ? fmu_serialize_stepper(f, &s->part, bytes)
                           : cpli_cmodel_serialize(f->model, &s->part, bytes);
}

fmu_status fmu_state_size(fmu* f, const char* function, void* state, size_t* size) {
  if (state == NULL || size == NULL || f->model == NULL) return FMU_ERROR;
  const saved* s = state;
  if (keeper(f, s) == NULL) return fmu_result(f, function, CPL_ERR_NOMEM);
  *size = head_size(f) + part_bytes(f, s, NULL);
  return FMU_OK;
}

fmu_status fmu_write_state(fmu* f, const char* function, void* state, unsigned char* bytes,
                           size_t size) {
  size_t needed = 0;
  if (fmu_state_size(f, function, state, &needed) != FMU_OK) return FMU_ERROR;
  const saved* s = state;
  if (bytes == NULL || size < needed) {
    return fmu_refuse(f, function, "%lu bytes are too few for a state of %lu", (unsigned long)size,
                      (unsigned long)needed);
  }
  char guid[GUID_SIZE] = "";
  unsigned char* to = bytes;
  memcpy(guid, cpl_fmu_guid, strlen(cpl_fmu_guid));
  memcpy(to, mark, sizeof mark), to += sizeof mark;
  memcpy(to, guid, sizeof guid), to += sizeof guid;
  memcpy(to, &s->frame, sizeof s->frame), to += sizeof s->frame;
  memcpy(to, s->derivatives, derivatives_size(f));
  part_bytes(f, s, bytes + head_size(f));
  return FMU_OK;
}

static bool read_head(const fmu* f, const unsigned char* bytes, size_t size, frame* out) {
  if (size < head_size(f) || memcmp(bytes, mark, sizeof mark) != 0 ||
      strncmp((const char*)bytes + sizeof mark, cpl_fmu_guid, GUID_SIZE) != 0) {
    return false;
  }
  memcpy(out, bytes + sizeof mark + GUID_SIZE, sizeof *out);
  return f->stepping || !out->stepping;
}

fmu_status fmu_read_state(fmu* f, const char* function, const unsigned char* bytes, size_t size,
                          void** state) {
  if (state == NULL || bytes == NULL || f->model == NULL) return FMU_ERROR;
  frame there;
  if (!read_head(f, bytes, size, &there)) {
    return fmu_refuse(f, function, "these %lu bytes are no saved state of this FMU",
                      (unsigned long)size);
  }
  saved* s = make(f);
  if (s == NULL) return fmu_result(f, function, CPL_ERR_NOMEM);
  s->frame = there;
  size_t before = head_size(f), own = derivatives_size(f);
  memcpy(s->derivatives, bytes + before - own, own);
  const unsigned char* rest = bytes + before;
  cpl_status st = CPL_ERR_NOMEM;
  if (keeper(f, s) != NULL) {
    st = there.stepping ? fmu_deserialize_stepper(f, rest, size - before, &s->part)
                        : cpli_cmodel_deserialize(f->model, rest, size - before, &s->part);
  }
  if (st < 0) {
    drop(f, s);
    return fmu_result(f, function, st);
  }
  drop(f, *state);
  *state = s;
  return FMU_OK;
}
