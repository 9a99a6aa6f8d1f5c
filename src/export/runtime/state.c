// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states. One contains all that changes: that of the model or stepper, the values set before
// initialisation, and for co-simulation the time; not the history of the integrator, which restarts
// at every step, so that a rollback changes no bit. For model exchange it contains what a model
// caches, so that saving a state has no influence on the rest of the run.
#include <assert.h>

#include "export/runtime/fmu.h"

// State in addition to that of the model or stepper. All of it is serialized.
typedef struct frame {
  cpl_setup setup;
  double time, reached, next_time;
  uint64_t start_size, history_size;
  uint32_t state;
  bool stepping, dae;
  bool stop_at_events, leave_events, update_due, end_wanted;
  bool importer_projects, projection_wanted, ahead;
} frame;

typedef struct fmu_saved {
  fmu* of;  // the instance that saved it; NULL: it is gone, and the snapshot with it
  fmu_part* owner;
  struct fmu_saved *before, *after;  // in the list of the instance
  cpl_snapshot part;
  frame frame;
  unsigned char* start;    // values set before initialisation
  unsigned char* history;  // of the model
  double inputs[];         // nu continuous inputs, then FMU_ORDERS derivatives of each
} saved;

static size_t inputs_size(const fmu* f) { return (1 + FMU_ORDERS) * f->nu * sizeof(double); }

static cpl_component* keeper(const saved* s) {
  return s->owner->model != NULL ? &s->owner->model->base : &s->owner->stepper->base;
}

// The instance knows it no longer.
static void detach(saved* s) {
  fmu* of = s->of;
  if (of == NULL) return;
  if (s->part.data != NULL) keeper(s)->ops->forget(keeper(s), &s->part);
  s->part.data = NULL;
  if (s->before != NULL) s->before->after = s->after;
  else of->saved = s->after;
  if (s->after != NULL) s->after->before = s->before;
  s->of = NULL;
  fmu_release(of, s->owner);
}

void fmu_orphan_states(fmu* f) {
  while (f->saved != NULL) detach(f->saved);
}

static void drop(fmu* f, saved* s) {
  if (s == NULL) return;
  detach(s);
  cpli_free(f->ctx, s->start);
  cpli_free(f->ctx, s->history);
  cpli_free(f->ctx, s);
}

static saved* make(fmu* f) {
  saved* s = cpli_alloc(f->ctx, 1, sizeof *s + inputs_size(f));
  if (s == NULL) {
    cpli_nomem(f->ctx);
    return NULL;
  }
  s->of = f;
  s->owner = f->part;
  s->after = f->saved;
  if (s->after != NULL) s->after->before = s;
  f->saved = s;
  f->part->n_states++;
  return s;
}

static bool can_save(fmu* f, const char* function) {
  cpl_component* c = fmu_component(f);
  if (c != NULL && c->ops->save != NULL) return true;
  fmu_refuse(f, function,
             c != NULL ? "states of this FMU cannot be saved" : "the instance could not be made");
  return false;
}

static cpl_status copy_start(fmu* f, saved* s) {
  unsigned char* room = cpli_realloc(f->ctx, s->start, f->start_size, 1);
  if (room == NULL) return cpli_nomem(f->ctx);
  s->start = room;
  memcpy(room, f->start, f->start_size);
  s->frame.start_size = f->start_size;
  return CPL_OK;
}

static void give_frame(const fmu* f, frame* to) {
  to->setup = f->setup;
  to->time = f->time;
  to->reached = f->reached;
  to->next_time = f->next_time;
  to->start_size = to->history_size = 0;
  to->state = f->state;
  to->stepping = f->stepping;
  to->dae = f->dae;
  to->stop_at_events = f->stop_at_events;
  to->leave_events = f->leave_events;
  to->update_due = f->update_due;
  to->end_wanted = f->end_wanted;
  to->importer_projects = f->importer_projects;
  to->projection_wanted = f->projection_wanted;
  to->ahead = f->ahead;
}

static cpl_status keep_history(const fmu* f, saved* s) {
  cpl_component* c = fmu_component(f);
  cpl_binary bytes = {0};
  bool complete = false;
  if (f->stepping || (f->state & FMU_RUNNING) == 0 || c->ops->get_history == NULL) return CPL_OK;
  cpl_status st = c->ops->get_history(c, &bytes, &complete);
  if (st < 0 || !complete || bytes.size == 0) return st;
  unsigned char* room = cpli_realloc(f->ctx, s->history, bytes.size, 1);
  if (room == NULL) return cpli_nomem(f->ctx);
  s->history = room;
  memcpy(room, bytes.data, bytes.size);
  s->frame.history_size = bytes.size;
  return CPL_OK;
}

// After the snapshot was saved or restored.
static cpl_status give_history(cpl_component* c, const saved* s) {
  const cpl_binary bytes = {s->history, s->frame.history_size};
  if (bytes.size == 0 || c->ops->set_history == NULL) return CPL_OK;
  return c->ops->set_history(c, &bytes);
}

static cpl_status fill(fmu* f, saved* s) {
  cpl_component* c = fmu_component(f);
  give_frame(f, &s->frame);
  cpl_status st = f->start_size > 0 ? copy_start(f, s) : CPL_OK;
  if (st >= 0 && f->stepping && f->nu > 0) {
    st = c->ops->get_real(c, f->input_refs, f->nu, s->inputs);
    memcpy(s->inputs + f->nu, f->input_derivatives, inputs_size(f) - f->nu * sizeof(double));
  }
  if (st >= 0) st = keep_history(f, s);
  if (st >= 0) st = c->ops->save(c, &s->part);
  return st < 0 ? st : give_history(c, s);
}

fmu_status fmu_save(fmu* f, const char* function, void** state) {
  if (state == NULL || !can_save(f, function)) return FMU_ERROR;
  saved* s = *state;
  if (s != NULL && (s->of != f || s->owner != f->part)) {
    drop(f, s);
    *state = s = NULL;
  }
  if (s == NULL) s = make(f);
  if (s == NULL) return fmu_result(f, function, CPL_ERR_NOMEM);
  cpl_status st = fill(f, s);
  if (st >= 0) *state = s;
  else if (*state == NULL) drop(f, s);
  return fmu_result(f, function, st);
}

static cpl_status part_bytes(fmu* f, const saved* s, cpl_binary* bytes) {
  cpl_component* c = keeper(s);
  if (c->ops->serialize == NULL)
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "states of this FMU cannot be converted to bytes");
  return c->ops->serialize(c, &s->part, bytes);
}

// A state of another instance, by its bytes.
static cpl_status restore_foreign(fmu* f, const saved* s) {
  cpl_component* c = fmu_component(f);
  cpl_snapshot copy = {NULL};
  cpl_binary bytes = {0};
  cpl_status st = part_bytes(f, s, &bytes);
  if (st >= 0) st = c->ops->deserialize(c, &bytes, &copy);
  if (st >= 0) st = c->ops->restore(c, &copy);
  if (st >= 0) st = give_history(c, s);
  if (copy.data != NULL) c->ops->forget(c, &copy);
  return st;
}

static cpl_status restore_part(fmu* f, const saved* s) {
  if (s->of != f) return restore_foreign(f, s);
  if (s->owner != f->part || fmu_component(f) == NULL) fmu_use(f, s->owner);
  cpl_status st = keeper(s)->ops->restore(keeper(s), &s->part);
  return st < 0 ? st : give_history(keeper(s), s);
}

// An instance that runs keeps its own stop time, that of the run that goes on from the state.
static void take_frame(fmu* f, const frame* from) {
  const bool runs = (f->state & (FMU_EVENT | FMU_CONTINUOUS | FMU_STEPPED)) != 0;
  const cpl_setup own = f->setup;
  f->setup = from->setup;
  if (runs) f->setup.has_stop_time = own.has_stop_time, f->setup.stop_time = own.stop_time;
  f->reached = from->reached;
  f->next_time = from->next_time;
  f->state = from->state;
  f->dae = from->dae;
  f->stop_at_events = from->stop_at_events;
  f->leave_events = from->leave_events;
  f->update_due = from->update_due;
  f->end_wanted = from->end_wanted;
  f->importer_projects = from->importer_projects;
  f->projection_wanted = from->projection_wanted;
  f->ahead = from->ahead;
  f->n_slopes = 0;
}

// Other values may follow from those that were set, which only the component knows that they are
// set in.
static cpl_status set_again(fmu* f) {
  cpl_component* c = fmu_component(f);
  cpl_status st = f->content.sets_starts ? c->ops->reset(c) : CPL_OK;
  return st >= 0 && f->content.sets_starts ? fmu_set_start(f) : st;
}

fmu_status fmu_restore(fmu* f, const char* function, void* state) {
  const saved* s = state;
  if (s == NULL || s->part.data == NULL) return fmu_refuse(f, function, "there is no state");
  if (s->of != f && (!can_save(f, function) || s->frame.stepping != f->stepping ||
                     s->frame.dae != f->dae || s->of->nu != f->nu))
    return fmu_refuse(f, function, "the state is of an instance of another kind");
  cpl_status st = restore_part(f, s);
  if (st >= 0) f->time = s->frame.time;
  // the stepper may have the curves of another instance, whose bytes these were
  for (uint32_t i = 0; i < f->nu && (s->frame.state & FMU_RUNNING) != 0; i++)
    f->has_curve[i] = f->stepper != NULL && f->stepper->ops->set_curve != NULL;
  if (st >= 0) st = fmu_hold_inputs(f, s->inputs);
  if (st >= 0 && f->start_size + s->frame.start_size > 0)
    st = fmu_replace_start(f, s->start, s->frame.start_size);
  if (st >= 0 && s->frame.state == FMU_INSTANTIATED) st = set_again(f);
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, function, st);
  }
  take_frame(f, &s->frame);
  if (f->nu > 0)
    memcpy(f->input_derivatives, s->inputs + f->nu, inputs_size(f) - f->nu * sizeof(double));
  return FMU_OK;
}

fmu_status fmu_forget(fmu* f, void** state) {
  if (state == NULL) return FMU_ERROR;
  drop(f, *state);
  *state = NULL;
  return FMU_OK;
}

//------------------------------------ bytes ------------------------------------

// A mark, the GUID, the frame, the inputs, the start values and the history precede the bytes of
// the model or stepper.
static const char mark[8] = "couplet";
enum { GUID_SIZE = 40 };
static_assert((sizeof mark + GUID_SIZE) % sizeof(double) == 0 &&
                  sizeof(frame) % sizeof(double) == 0,
              "what follows the head in the bytes of a state is aligned");

static size_t head_size(const fmu* f) {
  return sizeof mark + GUID_SIZE + sizeof(frame) + inputs_size(f);
}

fmu_status fmu_state_size(fmu* f, const char* function, void* state, size_t* size) {
  if (state == NULL || size == NULL) return FMU_ERROR;
  const saved* s = state;
  cpl_binary bytes = {0};
  if (s->part.data == NULL) return fmu_refuse(f, function, "there is no state");
  cpl_status st = part_bytes(f, s, &bytes);
  *size = head_size(f) + s->frame.start_size + s->frame.history_size + bytes.size;
  return fmu_result(f, function, st);
}

fmu_status fmu_write_state(fmu* f, const char* function, void* state, unsigned char* bytes,
                           size_t size) {
  const saved* s = state;
  cpl_binary part = {0};
  if (s == NULL || s->part.data == NULL) return fmu_refuse(f, function, "there is no state");
  cpl_status st = part_bytes(f, s, &part);
  if (st < 0) return fmu_result(f, function, st);
  size_t needed = head_size(f) + s->frame.start_size + s->frame.history_size + part.size;
  if (bytes == NULL || size < needed) {
    return fmu_refuse(f, function, "%lu bytes are too few for a state of %lu", (unsigned long)size,
                      (unsigned long)needed);
  }
  char guid[GUID_SIZE] = "";
  unsigned char* to = bytes;
  strncpy(guid, f->content.guid, sizeof guid - 1);
  memcpy(to, mark, sizeof mark), to += sizeof mark;
  memcpy(to, guid, sizeof guid), to += sizeof guid;
  memcpy(to, &s->frame, sizeof s->frame), to += sizeof s->frame;
  memcpy(to, s->inputs, inputs_size(f)), to += inputs_size(f);
  if (s->frame.start_size > 0) memcpy(to, s->start, s->frame.start_size);
  to += s->frame.start_size;
  if (s->frame.history_size > 0) memcpy(to, s->history, s->frame.history_size);
  to += s->frame.history_size;
  memcpy(to, part.data, part.size);
  return FMU_OK;
}

static bool read_head(const fmu* f, const unsigned char* bytes, size_t size, frame* out) {
  if (size < head_size(f) || memcmp(bytes, mark, sizeof mark) != 0 ||
      strncmp((const char*)bytes + sizeof mark, f->content.guid, GUID_SIZE - 1) != 0) {
    return false;
  }
  memcpy(out, bytes + sizeof mark + GUID_SIZE, sizeof *out);
  size_t rest = size - head_size(f);
  return out->start_size <= rest && out->history_size <= rest - out->start_size &&
         out->dae == f->dae && out->stepping == f->stepping;
}

static cpl_status read_part(fmu* f, const unsigned char* bytes, size_t size, saved* s) {
  cpl_component* c = fmu_component(f);
  const unsigned char* history = bytes + s->frame.start_size;
  size_t before = s->frame.start_size + s->frame.history_size;
  cpl_binary part = {bytes + before, size - before};
  if (c->ops->deserialize == NULL)
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "states of this FMU cannot be made of bytes");
  if (s->frame.start_size > 0) {
    s->start = cpli_alloc(f->ctx, s->frame.start_size, 1);
    if (s->start == NULL) return cpli_nomem(f->ctx);
    memcpy(s->start, bytes, s->frame.start_size);
  }
  if (s->frame.history_size > 0) {
    s->history = cpli_alloc(f->ctx, s->frame.history_size, 1);
    if (s->history == NULL) return cpli_nomem(f->ctx);
    memcpy(s->history, history, s->frame.history_size);
  }
  return c->ops->deserialize(c, &part, &s->part);
}

fmu_status fmu_read_state(fmu* f, const char* function, const unsigned char* bytes, size_t size,
                          void** state) {
  if (state == NULL || bytes == NULL || !can_save(f, function)) return FMU_ERROR;
  frame there;
  if (!read_head(f, bytes, size, &there)) {
    return fmu_refuse(f, function, "these %lu bytes are no saved state of this FMU",
                      (unsigned long)size);
  }
  saved* s = make(f);
  if (s == NULL) return fmu_result(f, function, CPL_ERR_NOMEM);
  size_t head = head_size(f);
  s->frame = there;
  memcpy(s->inputs, bytes + head - inputs_size(f), inputs_size(f));
  cpl_status st = read_part(f, bytes + head, size - head, s);
  if (st < 0) {
    drop(f, s);
    return fmu_result(f, function, st);
  }
  drop(f, *state);
  *state = s;
  return FMU_OK;
}
