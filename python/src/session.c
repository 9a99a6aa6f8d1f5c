// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sessions: what surrounds every call of the library. Messages of the log are collected, since they
// come from any thread and without the interpreter lock, and are delivered as warnings and log
// records at the end of the call, or at the next call of a callback.
//
// Ctrl-C: Python's handler only notes the signal, and Python code runs when the call has returned.
// While a call of the main thread runs, our handler is before Python's, and cancels the call; it is
// installed only where the signal raises KeyboardInterrupt. Handlers of users in Python are called
// by core_poll(). A second Ctrl-C, a second after the first, leaves models that do not return.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

static unsigned forks;  // of this process since the module was imported
static _Thread_local int main_thread = -1;
static PyObject* errors;  // the module couplet._errors

//------------------------------------ texts ------------------------------------

const char* core_text(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = NULL;
  char* bytes = NULL;
  if (PyBytes_Check(object)) {
    if (PyBytes_AsStringAndSize(object, &bytes, &size) == 0) text = bytes;
  } else if (PyUnicode_Check(object)) {
    text = PyUnicode_AsUTF8AndSize(object, &size);
  } else {
    PyErr_Format(PyExc_TypeError, "a name or text is a str, not %R", object);
  }
  if (text == NULL || strlen(text) == (size_t)size) return text;
  PyErr_SetString(PyExc_ValueError, "a text contains a null character");
  return NULL;
}

PyObject* core_str(const char* text) {
  if (text == NULL) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

bool core_put(PyObject* dict, const char* key, PyObject* value) {
  bool fine = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return fine;
}

//------------------------------------ errors ------------------------------------

PyObject* core_error_function(const char* name) {
  static PyObject* kept;
  if (errors == NULL) errors = PyImport_ImportModule("couplet._errors");
  if (errors == NULL) return NULL;
  if (kept == NULL) kept = PyDict_New();
  PyObject* function = kept != NULL ? PyDict_GetItemString(kept, name) : NULL;
  if (function != NULL || kept == NULL) return function;
  function = PyObject_GetAttrString(errors, name);
  if (function == NULL) return NULL;
  PyDict_SetItemString(kept, name, function);
  Py_DECREF(function);
  return function;
}

static PyObject* raise_error(const cpl_error* e) {
  PyObject* make = core_error_function("make_error");
  if (make == NULL) return NULL;
  PyObject* error = PyObject_CallFunction(
      make, "iNNNiiNNdNN", (int)e->status, core_str(e->text), core_str(e->message),
      core_str(e->file), (int)e->line, (int)e->column, core_str(e->component),
      core_str(e->variable), e->time, core_str(e->unknown), core_str(e->similar));
  if (error == NULL) return NULL;
  PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

PyObject* core_raise(cpl_status st, const char* text) {
  const cpl_error e = {.status = st,
                       .text = text,
                       .message = text,
                       .file = "",
                       .component = "",
                       .variable = "",
                       .time = (double)NAN,
                       .unknown = "",
                       .similar = ""};
  return raise_error(&e);
}

//------------------------------------ messages ------------------------------------

// Called from any thread, one at a time, without the interpreter lock. Without memory a message is
// lost.
static void keep_message(void* user, cpl_log_level level, const char* who, const char* text) {
  core_session* s = user;
  core_message m = {level, strdup(who), strdup(text)};
  pthread_mutex_lock(&s->mutex);
  if (s->n_messages == s->cap_messages) {
    size_t cap = s->cap_messages > 0 ? 2 * s->cap_messages : 8;
    core_message* more = realloc(s->messages, cap * sizeof *more);
    if (more != NULL) s->messages = more, s->cap_messages = cap;
  }
  bool fits = s->n_messages < s->cap_messages && m.who != NULL && m.text != NULL;
  if (fits) s->messages[s->n_messages++] = m;
  pthread_mutex_unlock(&s->mutex);
  if (fits) return;
  free(m.who);
  free(m.text);
}

static void free_messages(core_message* messages, size_t n) {
  for (size_t i = 0; i < n; i++) {
    free(messages[i].who);
    free(messages[i].text);
  }
  free(messages);
}

// A warning may be an error by the filters of the program. Returns: false: an exception is set.
static bool deliver_messages(core_session* s) {
  if (s->n_messages == 0) return true;
  pthread_mutex_lock(&s->mutex);
  core_message* messages = s->messages;
  size_t n = s->n_messages;
  s->messages = NULL;
  s->n_messages = s->cap_messages = 0;
  pthread_mutex_unlock(&s->mutex);
  PyObject* tell = s->deliver != NULL ? s->deliver : core_error_function("deliver");
  bool fine = tell != NULL;
  for (size_t i = 0; i < n && fine; i++) {
    PyObject* done = PyObject_CallFunction(tell, "iNN", (int)messages[i].level,
                                           core_str(messages[i].who), core_str(messages[i].text));
    fine = done != NULL;
    Py_XDECREF(done);
  }
  free_messages(messages, n);
  return fine;
}

//------------------------------------ interrupts ------------------------------------

static core_session* _Atomic interruptible;  // the innermost call of the main thread. Nullable.
static atomic_int in_handler;
static _Thread_local volatile int in_python;  // callbacks of this thread, which cannot be left
static _Thread_local bool too_deep;           // is_too_deep() has raised an exception
static struct sigaction former;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_interrupt(int signal_number, siginfo_t* info, void* machine) {
  const double patience = 1;
  int before = errno;
  bool leave = false;
  in_handler++;
  for (core_session* s = interruptible; s != NULL; s = s->outer) {
    if (s->cancelled_at == 0) s->cancelled_at = now();
    else if (now() - s->cancelled_at > patience) leave = true;
    cpl_context_cancel(s->ctx);
  }
  in_handler--;
  if (former.sa_flags & SA_SIGINFO) former.sa_sigaction(signal_number, info, machine);
  else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN)
    former.sa_handler(signal_number);
  errno = before;
  if (leave && in_python == 0)
    cpl_leave_calls();  // does not return where this thread leaves a call
}

static bool raises_interrupts(void) {
  PyObject* module = PyImport_ImportModule("signal");
  PyObject* have = module != NULL ? PyObject_CallMethod(module, "getsignal", "i", SIGINT) : NULL;
  PyObject* usual = module != NULL ? PyObject_GetAttrString(module, "default_int_handler") : NULL;
  bool same = have != NULL && have == usual;
  Py_XDECREF(have);
  Py_XDECREF(usual);
  Py_XDECREF(module);
  PyErr_Clear();
  return same;
}

// Python installs its own handler again whenever a program sets one.
static void watch_interrupts(void) {
  struct sigaction present;
  if (sigaction(SIGINT, NULL, &present) != 0) return;
  if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == on_interrupt) return;
  if (present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN || !raises_interrupts())
    return;
  former = present;
  struct sigaction action = present;
  action.sa_flags |= SA_SIGINFO | SA_NODEFER;  // a call may be left from inside the handler
  action.sa_sigaction = on_interrupt;
  sigaction(SIGINT, &action, NULL);
}

static bool is_main_thread(void) {
  if (main_thread < 0) main_thread = gettid() == getpid();
  return main_thread > 0;
}

static void push_interruptible(core_session* s) {
  (void)in_python;  // allocated here, not in the signal handler
  s->interruptible = is_main_thread();
  s->cancelled_at = 0;
  if (!s->interruptible) return;
  s->outer = interruptible;
  interruptible = s;
}

static void pop_interruptible(core_session* s) {
  if (!s->interruptible) return;
  interruptible = s->outer;
  while (in_handler > 0) sched_yield();  // of another thread, which may still use the context
  s->outer = NULL;
}

//------------------------------------ life ------------------------------------

static void count_fork(void) {
  forks++;
  main_thread = -1;
  interruptible = NULL;
}

bool core_session_init(void) { return pthread_atfork(NULL, NULL, count_fork) == 0; }

// A model may simulate another one, but not itself without end. The exception is raised by all
// calls around, since each of them would otherwise try again.
static bool is_too_deep(void) {
  enum { MAX_DEPTH = 16 };
  too_deep = in_python >= MAX_DEPTH;
  if (too_deep)
    core_raise(CPL_ERR_INPUT,
               "runs are nested too deep: a model or function simulates a system, and that system "
               "the model or function again");
  return too_deep;
}

bool core_session_open(core_session* s, cpl_log_level level) {
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_message;
  def.log_level = level;
  def.user = s;
  *s = (core_session){.forks = forks};
  if (is_too_deep()) return false;
  pthread_mutex_init(&s->mutex, NULL);
  s->ctx = cpl_context_create(&def);
  if (s->ctx == NULL) PyErr_NoMemory();
  cpl_guard_crashes();
  if (is_main_thread()) watch_interrupts();
  return s->ctx != NULL;
}

static void drop_exception(core_session* s) {
  Py_CLEAR(s->type);
  Py_CLEAR(s->value);
  Py_CLEAR(s->trace);
}

void core_session_close(core_session* s) {
  if (s->ctx == NULL || core_session_is_forked(s)) return;
  cpl_context_destroy(s->ctx);
  s->ctx = NULL;
  free_messages(s->messages, s->n_messages);
  s->messages = NULL;
  drop_exception(s);
  pthread_mutex_destroy(&s->mutex);
}

bool core_session_is_forked(const core_session* s) { return s->forks != forks; }

bool core_session_check(const core_session* s) {
  if (core_session_is_forked(s)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this object belongs to the parent process: open another one after a fork");
    return false;
  }
  if (s->busy) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this run is in use: by another thread, or by the call that called this "
                    "function");
    return false;
  }
  return true;
}

//------------------------------------ calls ------------------------------------

bool core_begin(core_session* s) {
  if (!core_session_check(s)) return false;
  s->busy = true;
  if (cpl_context_cancelled(s->ctx) > 0) cpl_context_resume(s->ctx);
  push_interruptible(s);
  s->thread = PyEval_SaveThread();
  return true;
}

// The failure as the library reports it, with the exception of a model as its cause.
static bool raise_with_cause(core_session* s) {
  PyObject *type, *value, *trace;
  raise_error(cpl_context_last_error(s->ctx));
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyErr_NormalizeException(&s->type, &s->value, &s->trace);
  if (s->value != NULL && s->trace != NULL) PyException_SetTraceback(s->value, s->trace);
  if (value != NULL && s->value != NULL) {
    Py_INCREF(s->value);
    PyException_SetCause(value, s->value);
  }
  PyErr_Restore(type, value, trace);
  drop_exception(s);
  return false;
}

bool core_end(core_session* s, cpl_status st) {
  PyEval_RestoreThread(s->thread);
  pop_interruptible(s);
  s->busy = false;
  if (in_python == 0) too_deep = false;
  if (s->type != NULL && !s->is_cause) {
    PyErr_Restore(s->type, s->value, s->trace);
    s->type = s->value = s->trace = NULL;
    return false;
  }
  if (!deliver_messages(s)) {
    drop_exception(s);
    return false;
  }
  if (s->type != NULL && st < 0) return raise_with_cause(s);
  drop_exception(s);  // of a call whose failure was no failure of the whole
  if (st >= 0) return true;
  if (st == CPL_ERR_CANCELLED && PyErr_CheckSignals() != 0) return false;
  if (st == CPL_ERR_CANCELLED && s->cancelled_at > 0) {  // a model caught the exception
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return false;
  }
  if (st == CPL_ERR_NOMEM) PyErr_NoMemory();
  else raise_error(cpl_context_last_error(s->ctx));
  return false;
}

PyGILState_STATE core_enter(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  in_python++;
  return state;
}

static void flush(const char* name) {
  PyObject* stream = PySys_GetObject(name);  // borrowed
  PyObject* done = stream != NULL ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
  Py_XDECREF(done);
  PyErr_Clear();
}

static int exit_code(void) {
  PyObject *type, *value, *trace, *code = NULL;
  if (!PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_SystemExit)) {
    PyErr_Print();
    return 1;
  }
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != NULL) code = PyObject_GetAttrString(value, "code");
  const int number = code == Py_None                      ? 0
                     : code != NULL && PyLong_Check(code) ? (int)PyLong_AsLong(code)
                                                          : 1;
  PyErr_Clear();
  return number;
}

// As a child of multiprocessing ends: without the exit handlers of the program, which belong to the
// parent.
static void end_copy(const core_session* s) {
  if (!core_session_is_forked(s)) return;
  const int code = exit_code();
  flush("stdout");
  flush("stderr");
  _exit(code);
}

void core_exit(core_session* s, PyGILState_STATE state) {
  end_copy(s);
  in_python--;
  PyGILState_Release(state);
}

void core_leave(core_session* s, PyGILState_STATE state) {
  end_copy(s);
  if (PyErr_Occurred()) {
    if (s->type == NULL) {
      PyErr_Fetch(&s->type, &s->value, &s->trace);
      s->is_cause = false;
    }
    PyErr_Clear();
    cpl_context_cancel(s->ctx);
  }
  core_exit(s, state);
}

void core_keep_cause(core_session* s) {
  end_copy(s);
  const bool plain = PyErr_ExceptionMatches(PyExc_Exception) && !too_deep;
  if (s->type == NULL) {
    PyErr_Fetch(&s->type, &s->value, &s->trace);
    s->is_cause = plain;
  }
  PyErr_Clear();
  if (!plain) cpl_context_cancel(s->ctx);
}

PyObject* core_exception_text(PyObject* type, PyObject* value) {
  PyObject* name = type != NULL ? PyObject_GetAttrString(type, "__name__") : NULL;
  PyObject* text = name != NULL ? PyUnicode_FromFormat("%U: %S", name, value) : NULL;
  const bool fine = text != NULL && core_text(text) != NULL;
  Py_XDECREF(name);
  PyErr_Clear();
  if (fine) return text;
  Py_XDECREF(text);
  return PyUnicode_FromString("an exception of Python");
}

void core_fail_function(core_session* s, PyGILState_STATE state, const char* what,
                        const char* variable, double t) {
  PyObject *type, *value, *trace;
  char text[512];
  if (!PyErr_ExceptionMatches(PyExc_Exception) || too_deep || core_session_is_forked(s)) {
    core_leave(s, state);
    return;
  }
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != NULL && trace != NULL) PyException_SetTraceback(value, trace);
  PyObject* reason = core_exception_text(type, value);
  snprintf(text, sizeof text, "%s %.150s failed at t=%.12g: %.250s", what, variable, t,
           reason != NULL ? core_text(reason) : "");
  const cpl_error e = {.status = CPL_ERR_MODEL,
                       .text = text,
                       .message = text,
                       .file = "",
                       .component = "",
                       .variable = variable,
                       .time = t,
                       .unknown = "",
                       .similar = ""};
  raise_error(&e);
  Py_XDECREF(reason);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  PyObject *new_type, *new_value, *new_trace;
  PyErr_Fetch(&new_type, &new_value, &new_trace);
  PyErr_NormalizeException(&new_type, &new_value, &new_trace);
  if (new_value != NULL) PyException_SetCause(new_value, value);  // takes the reference
  else Py_XDECREF(value);
  PyErr_Restore(new_type, new_value, new_trace);
  core_leave(s, state);
}

void core_raise_last(const core_session* s, cpl_status st) {
  if (st == CPL_ERR_NOMEM) PyErr_NoMemory();
  else raise_error(cpl_context_last_error(s->ctx));
}

void core_poll(core_session* s) {
  if (PyErr_CheckSignals() == 0) deliver_messages(s);
}
