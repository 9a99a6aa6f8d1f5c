// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The extension module couplet._core: objects of CPython over the public headers of couplet, by the
// stable interface of CPython 3.11, so that one binary serves all later versions. It has no logic
// of simulations; the package around it (python/couplet) has the names that users see.
//
// Rules: the interpreter lock is released during every call of the library that can call a model.
// A session (a context, its messages, the exception of a callback) is used by one thread at a time,
// which `busy` ensures. Objects made before a fork() cannot be used after it in the child.
#pragma once

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>

#include "couplet/couplet.h"

//------------------------------------ session.c ------------------------------------

typedef struct core_message {
  cpl_log_level level;
  char* who;
  char* text;
} core_message;

typedef struct core_session {
  cpl_context* ctx;
  pthread_mutex_t mutex;  // of the messages, which come from any thread
  core_message* messages;
  size_t n_messages, cap_messages;
  PyObject* deliver;               // receives the messages; Nullable: couplet._errors.deliver
  PyObject *type, *value, *trace;  // the first exception of a callback during a call. Nullable.
  PyThreadState* thread;           // while the interpreter lock is released
  struct core_session* outer;      // the call from whose callback this one was made. Nullable.
  double cancelled_at;             // clock of the first interrupt [s]; 0: none
  unsigned forks;
  bool busy, interruptible;
  bool is_cause;  // that exception is the cause of a failure that the library reports
} core_session;

/// Makes the context. false: an exception is set.
bool core_session_open(core_session* s, cpl_log_level level);
/// Nothing is freed in a forked child, whose parent still uses files and processes.
void core_session_close(core_session* s);
/// false, and an exception: the session belongs to the parent process, or another thread or an
/// enclosing call uses it.
bool core_session_check(const core_session* s);
bool core_session_is_forked(const core_session* s);

/// Releases the interpreter lock for a call of the library. false: as core_session_check().
bool core_begin(core_session* s);
/// Takes the lock again, delivers messages, and raises the failure, if `st` is one.
/// Returns: false when an exception is set.
bool core_end(core_session* s, cpl_status st);

/// Inside of a call, in a callback: take the lock, and release it.
/// core_leave() keeps an exception for core_end() and cancels the call.
/// A process that was forked in the callback ends here: it has a copy of the run, but none of the
/// threads, files and processes that the run uses.
PyGILState_STATE core_enter(void);
void core_exit(core_session* s, PyGILState_STATE state);
void core_leave(core_session* s, PyGILState_STATE state);
/// In a callback of a model, with the lock and an exception, which becomes the cause of the failure
/// that the library reports. Exceptions such as KeyboardInterrupt are raised as they are.
void core_keep_cause(core_session* s);
/// In a function of a system, with an exception: keeps a ModelError that has it as its cause,
/// cancels the call, and releases the lock. `what` is the function of `variable`.
void core_fail_function(core_session* s, PyGILState_STATE state, const char* what,
                        const char* variable, double t);
/// The class of an exception and what it says, as a str of valid UTF-8. Nullable.
PyObject* core_exception_text(PyObject* type, PyObject* value);
/// Sets the exception of the last failure.
void core_raise_last(const core_session* s, cpl_status st);
/// In a callback, with the lock: signals and messages are delivered.
void core_poll(core_session* s);

/// Sets an exception of the class that belongs to a status. Returns NULL.
PyObject* core_raise(cpl_status st, const char* text);
/// An attribute of the module couplet._errors; a borrowed reference, which is kept.
PyObject* core_error_function(const char* name);

/// Once, at import.
bool core_session_init(void);

//------------------------------------ rows.c ------------------------------------

/// Recorded rows, of all types.
typedef struct core_rows {
  cpl_column* columns;  // with texts of its own
  size_t n;
  cpl_value* cells;  // row after row: time, then n values
  size_t n_rows, cap;
  char** texts;  // values of Strings
  size_t n_texts, cap_texts;
} core_rows;

cpl_status core_rows_begin(core_rows* rows, const cpl_column* columns, size_t n);
cpl_status core_rows_add(core_rows* rows, double t, const cpl_value* values);
void core_rows_free(core_rows* rows);
/// Rows as bytes, for a checkpoint. Owned: *bytes by the caller, who calls free().
cpl_status core_rows_pack(const core_rows* rows, unsigned char** bytes, size_t* size);
/// The rows of a checkpoint, into those of a run that has begun. Bytes are not trusted:
/// CPL_ERR_INPUT where they are not rows of the same columns.
cpl_status core_rows_unpack(core_rows* rows, const unsigned char* bytes, size_t size);
/// (columns, block, texts): a list of (name, unit, description, type, is_unsigned, constant),
/// memory with the time and then each column, and a dict of lists for Strings.
PyObject* core_rows_data(const core_rows* rows);

/// A block of memory with the buffer protocol.
PyObject* core_block(size_t size, void** data);

//------------------------------------ settings.c ------------------------------------

typedef struct core_settings core_settings;

/// Settings from a dict, whose keys are those of couplet._core.Run; it is kept.
core_settings* core_settings_create(core_session* session, PyObject* dict);
void core_settings_destroy(core_settings* s);
const cpl_experiment_settings* core_settings_get(const core_settings* s);
/// Reads the table of inputs from its file; without the lock.
cpl_status core_settings_read(core_settings* s, cpl_context* ctx);
int core_settings_traverse(const core_settings* s, visitproc visit, void* arg);
PyObject* core_settings_progress(const core_settings* s);  ///< borrowed; NULL: none
/// Where checkpoints are read and written. Borrowed, all; NULL: not given.
typedef struct core_places {
  const char *checkpoint, *resume, *start_from;
  double every, at;     // NaN: not given
  const char* content;  // what identifies a model that is no file
} core_places;
const core_places* core_settings_places(const core_settings* s);
/// The start time of the run, unless one is given.
void core_settings_start_at(core_settings* s, double t);

//------------------------------------ run.c, children.c ------------------------------------

typedef struct core_run core_run;

/// What a run has made and must destroy first: a selection or a snapshot.
typedef struct core_child {
  struct core_child *next, **at;  // in the list of the run; at NULL: released
  cpl_selection* selection;
  cpl_snapshot snapshot;
} core_child;

/// Checkpoints of a run: the one it began with, and those it writes, with the rows so far.
typedef struct core_states {
  cpl_checkpoint* from;  // Nullable
  cpl_checkpoints_def def;
  char* identity;
  unsigned char* packed;
} core_states;

struct core_run {
  PyObject_HEAD core_session session;
  core_settings* settings;
  cpl_experiment* experiment;
  cpl_simulation* sim;  // NULL: closed
  core_rows rows;
  core_states states;
  core_child* children;
  core_child* garbage;  // released by their objects while the run was busy
  cpl_run_stats stats;
  bool started, finished, terminated;
};

extern PyObject *core_run_type, *core_selection_type, *core_snapshot_type;

/// false, and an exception: the run is closed, busy, or belongs to the parent process.
bool core_run_check(core_run* run);
/// Starts the simulation where that has not been done; without the lock.
cpl_status core_run_start(core_run* run);
/// Reads the checkpoint that the settings name; before the experiment is created.
cpl_status core_states_read(core_run* run);
/// Once it is prepared: what the simulation needs for checkpoints.
cpl_status core_states_begin(core_run* run);
/// Once the columns are known: the rows of the run that is resumed.
cpl_status core_states_rows(core_run* run);
void core_states_close(core_run* run);
/// A method of Run: writes a checkpoint now, to a path, with the content of the settings.
PyObject* core_run_checkpoint(PyObject* self, PyObject* args);
/// A method of Run: names of free variables, and pairs of a name and a value.
PyObject* core_run_steady(PyObject* self, PyObject* args);
/// A method of Run: names, number of states or -1.
PyObject* core_run_linearize(PyObject* self, PyObject* args);
/// A method of Run: input, output, range, points per decade, frequencies.
PyObject* core_run_frequency(PyObject* self, PyObject* args);
void core_run_adopt(core_run* run, core_child* child);
void core_run_release(core_run* run, core_child* child);

//------------------------------------ study.c ------------------------------------

/// statistics(results, probabilities): (n, missing, mean, deviation, least, greatest, quantiles) of
/// float64 arrays.
PyObject* core_statistics(PyObject* module, PyObject* args);

//------------------------------------ linear.c ------------------------------------

/// roots(zeros, n, m, k, A, B, C, D): poles or zeros.
PyObject* core_roots(PyObject* module, PyObject* args);

//------------------------------------ search.c ------------------------------------

/// fit(...) and optimize(...): see search.c.
PyObject* core_fit(PyObject* module, PyObject* args);
PyObject* core_optimize(PyObject* module, PyObject* args);

//------------------------------------ gradients.c ------------------------------------

/// gradients(settings): see gradients.c.
PyObject* core_gradients(PyObject* module, PyObject* args);

//------------------------------------ tables of the module ------------------------------------

bool core_add_rows(PyObject* module);
bool core_add_run(PyObject* module);
bool core_add_children(PyObject* module);
bool core_add_component(PyObject* module);
bool core_add_study(PyObject* module);
extern PyMethodDef core_verbs[];

//------------------------------------ texts, numbers ------------------------------------

/// A number, which is not complex. false: an exception is set.
bool core_read_double(PyObject* from, double* to);
/// The numbers of a sequence or an array, n of them; a number is a sequence of one. `what` is their
/// name in messages. false: an exception is set.
bool core_read_doubles(PyObject* from, const char* what, double* to, size_t n);
/// The UTF-8 of a str, or the content of bytes; borrowed. NULL: an exception is set.
const char* core_text(PyObject* object);
/// A str; bytes that are no UTF-8 are replaced. NULL gives None.
PyObject* core_str(const char* text);
/// Adds to a dict and releases the value. false: an exception is set.
bool core_put(PyObject* dict, const char* key, PyObject* value);
