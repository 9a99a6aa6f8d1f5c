// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs across machines through the C interface: messages and what garbage does to their readers,
// join files, the same bits as in one process, and members that do not keep to the rules.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "couplet/component.h"
#include "lines.h"
#include "tlm/peer.h"

//------------------------------------ messages ------------------------------------

static void write_wave(cpli_packet* w) {
  cpli_segment s = {.from = 1, .to = 1.5, .jump = true};
  for (int i = 0; i < CPLI_WIDTH * CPLI_NODES; i++) s.c[i / CPLI_NODES][i % CPLI_NODES] = i - 7.25;
  cpli_put_head(w, &(cpli_head){CPLI_MSG_WAVE, 0x1234567890abcdef, 3, -1, 77});
  cpli_put_real(w, 1.5);
  cpli_put_u8(w, 0);
  cpli_put_u32(w, 2);
  cpli_put_segment(w, 5, CPLI_WIDTH, &s);
  cpli_put_segment(w, 6, 1, &s);
}

static bool read_wave(const uint8_t* data, size_t n, const cpli_head* expected) {
  cpli_bytes b = {.data = data, .n = n};
  cpli_head head;
  cpli_wave_head w;
  if (cpli_expect(&b, expected, &head) != NULL || head.kind != CPLI_MSG_WAVE) return false;
  cpli_get_wave_head(&b, &w);
  for (uint32_t i = 0; i < w.n && !b.bad; i++) {
    int32_t end, width;
    cpli_segment s;
    cpli_get_segment(&b, &end, &width, &s);
    if (b.bad) return false;
    CHECK(s.from < s.to && isfinite(s.from) && isfinite(s.to));
    for (int32_t k = 0; k < width; k++) {
      for (int32_t c = 0; c < CPLI_NODES; c++) CHECK(isfinite(s.c[k][c]));
    }
  }
  return cpli_all_read(&b);
}

static const cpli_head expected_wave = {CPLI_MSG_WAVE, 0x1234567890abcdef, 3, -1, 77};

static void what_is_written_is_read(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_packet w = {.ctx = ctx};
  write_wave(&w);
  CHECK(read_wave(w.data, w.n, &expected_wave));
  cpli_head wrong[4] = {expected_wave, expected_wave, expected_wave, expected_wave};
  wrong[0].session++, wrong[1].from++, wrong[2].to++, wrong[3].sequence++;
  for (int i = 0; i < 4; i++) CHECK(!read_wave(w.data, w.n, &wrong[i]));
  cpl_solver_def solver = cpl_default_solver_def(), got;
  // a field more must be said to those who join: cpli_put_solver()
  CHECK_INT(sizeof solver, 104);
  solver.kind = CPL_SOLVER_RADAU, solver.rtol = 1e-9, solver.one_solver = true;
  cpli_put_head(&w, &expected_wave);
  cpli_put_solver(&w, &solver);
  cpli_bytes b = {.data = w.data, .n = w.n, .at = CPLI_HEAD_SIZE};
  cpli_get_solver(&b, &got);
  CHECK(cpli_all_read(&b) && got.kind == solver.kind && got.rtol == 1e-9 && got.one_solver);
  cpli_packet_free(&w);
  cpl_context_destroy(ctx);
}

static uint32_t random_number(void) {
  static uint64_t s = 88172645463325252u;
  s ^= s << 13, s ^= s >> 7, s ^= s << 17;
  return (uint32_t)(s >> 16);
}

// Every reader, on bytes that end where the allocation ends, so that sanitizers see any step too
// far.
static void read_anything(const uint8_t* data, size_t n) {
  uint8_t* copy = malloc(n > 0 ? n : 1);
  char text[64];
  if (n > 0) memcpy(copy, data, n);
  read_wave(copy, n, &expected_wave);
  cpli_bytes b = {.data = copy, .n = n};
  cpl_solver_def solver;
  cpli_get_solver(&b, &solver);
  b = (cpli_bytes){.data = copy, .n = n};
  while (!b.bad && b.at < b.n) {
    cpli_get_text(&b, text, sizeof text);
    CHECK(strlen(text) < sizeof text);
  }
  b = (cpli_bytes){.data = copy, .n = n};
  CHECK(cpli_get_count(&b, 8) <= n / 8);
  free(copy);
}

static void garbage_is_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_packet w = {.ctx = ctx};
  write_wave(&w);
  // cut anywhere, it is refused; so is anything behind it
  for (size_t n = 0; n < w.n; n++) CHECK(!read_wave(w.data, n, &expected_wave));
  cpli_put_u8(&w, 0);
  CHECK(!read_wave(w.data, w.n, &expected_wave));
  uint8_t bytes[600];
  for (int round = 0; round < 20000; round++) {
    size_t n = random_number() % sizeof bytes;
    write_wave(&w);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_number();
    read_anything(bytes, n);
    for (int k = random_number() % 6; k >= 0; k--)
      w.data[random_number() % w.n] = (uint8_t)random_number();
    read_anything(w.data, w.n);
  }
  // numbers that are none
  write_wave(&w);
  double bad[] = {(double)NAN, (double)INFINITY};
  for (int i = 0; i < 2; i++) {
    write_wave(&w);
    memcpy(w.data + w.n - 8, &bad[i], 8);
    CHECK(!read_wave(w.data, w.n, &expected_wave));
  }
  cpli_packet_free(&w);
  cpl_context_destroy(ctx);
}

//------------------------------------ join files ------------------------------------

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void join_files_are_private(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_join_file f = {.address = "tcp://127.0.0.1:1234", .part = "left and right", .session = 42};
  cpli_join_file got;
  char path[256];
  struct stat info;
  cpli_written written;
  memset(f.server_key, 'a', CPLI_KEY_SIZE - 1);
  memset(f.keys.public_key, 'b', CPLI_KEY_SIZE - 1);
  memset(f.keys.secret_key, 'c', CPLI_KEY_SIZE - 1);
  CHECK(cpl_tlm_join_file(".", "left and/right", path, sizeof path));
  CHECK_STR(path, "./left_and_right.join");
  unlink(path);
  CHECK_OK(ctx, cpli_join_file_write(ctx, path, &f, false, &written));
  CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
  CHECK(cpli_join_file_write(ctx, path, &f, false, &written) == CPL_ERR_INPUT);
  CHECK_OK(ctx, cpli_join_file_write(ctx, path, &f, true, &written));
  CHECK_OK(ctx, cpli_join_file_read(ctx, path, &got));
  CHECK(memcmp(&f, &got, sizeof f) == 0);
  // one that somebody put in its place stays
  CHECK(rename(path, "mine.join") == 0);
  write_file(path, "another");
  cpli_join_file_remove(&written);
  CHECK(access(path, F_OK) == 0);
  CHECK(rename("mine.join", path) == 0);
  cpli_join_file_remove(&written);
  CHECK(access(path, F_OK) != 0);
  // a link that is there is not followed
  CHECK(symlink("elsewhere", path) == 0);
  CHECK(cpli_join_file_write(ctx, path, &f, false, &written) == CPL_ERR_INPUT);
  CHECK(access("elsewhere", F_OK) != 0);
  unlink(path);
  // cut anywhere it is no join file
  memset(f.server_key, 'a', 3), f.server_key[3] = '\0';
  CHECK_OK(ctx, cpli_join_file_write(ctx, path, &f, false, &written));
  CHECK(cpli_join_file_read(ctx, path, &got) == CPL_ERR_INPUT);
  unlink(path);
  cpl_context_destroy(ctx);
}

//------------------------------------ a run ------------------------------------

// Two masses, damped; a third one hears of the first by a signal, and is a stepper.
static bench three_masses(void) {
  bench b = bench_make();
  cpl_model *left = bench_model(&b, &mass_model, "left"),
            *right = bench_model(&b, &mass_model, "right"),
            *far = bench_model(&b, &mass_model, "far");
  bench_start(b.ctx, &left->base, "v", 1);
  bench_part(&b, left, false);
  bench_part(&b, right, false);
  bench_part(&b, far, true);
  int32_t l = bench_interface(&b, 0, "left.end", CPL_TLM_TRANSLATIONAL, "v", "F");
  int32_t r = bench_interface(&b, 1, "right.end", CPL_TLM_TRANSLATIONAL, "v", "F");
  int32_t from = bench_interface(&b, 0, "left.out", CPL_TLM_SIGNAL, "x", NULL);
  int32_t to = bench_interface(&b, 2, "far.in", CPL_TLM_SIGNAL, NULL, "F");
  bench_line(&b, l, r, 1e-3, 1, 0.1);
  bench_line(&b, from, to, 2e-3, 0, 0);
  return b;
}

static const char* const names[] = {"left.x", "left.v", "right.v", "far.v"};
enum { PARTS = 3, POINTS = 20, NAMES = 4 };

static void run_it(bench* b, double (*out)[NAMES]) {
  bench_begin(b, 0.2);
  for (int i = 0; i < POINTS; i++) {
    double t = 0.01 * (i + 1);
    bench_step(b, t);
    if (i == 10) {  // a mass that changes under way
      int32_t var = cpl_find_variable(b->s->base.desc, "right.m");
      double m = 2;
      CHECK(var >= 0);
      CHECK_OK(b->ctx,
               b->s->base.ops->set_real(&b->s->base, &b->s->base.desc->vars[var].ref, 1, &m));
    }
    for (int k = 0; k < NAMES; k++) out[i][k] = bench_value(b, names[k]);
  }
  CHECK_OK(b->ctx, b->s->base.ops->terminate(&b->s->base));
}

typedef cpl_status rogue_fn(cpl_tlm_join* j, cpl_stepper* s);

typedef struct guest {
  pthread_t thread;
  char file[256];
  rogue_fn* rogue;  // instead of running. Nullable
  cpl_status st;
  char error[512];
  atomic_bool has_left;
} guest;

typedef struct party {
  guest guests[PARTS];
  int n;
  rogue_fn* rogues[PARTS];
  cpl_status (*on_waiting)(void* user, const char* missing, double waited);  // Nullable
} party;

static void* take_part(void* user) {
  guest* g = user;
  bench b = three_masses();
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  cpl_tlm_join* join = NULL;
  def.key_file = g->file;
  def.start_limit = 30;
  g->st = cpl_tlm_join_open(b.ctx, &def, &join);
  b.def.join = join;
  b.def.threads = 1;
  if (g->st >= 0) {
    bench_couple(&b);
    g->st = g->rogue != NULL ? g->rogue(join, b.s) : cpl_tlm_join_run(join, b.s);
  }
  snprintf(g->error, sizeof g->error, "%s", cpl_context_error(b.ctx));
  if (b.s == NULL) {
    for (int i = 0; i < PARTS; i++) {
      if (b.parts[i].model != NULL) b.parts[i].model->base.ops->destroy(&b.parts[i].model->base);
      else b.parts[i].stepper->base.ops->destroy(&b.parts[i].stepper->base);
    }
  }
  cpl_stepper* s = b.s;
  b.s = NULL;
  if (s != NULL) s->base.ops->destroy(&s->base);
  cpl_tlm_join_close(join);
  bench_end(&b);
  g->has_left = true;
  return NULL;
}

static cpl_status invite_all(void* user, const char* const* parts, int32_t n, const char* address) {
  party* p = user;
  CHECK_CONTAINS(address, "tcp://127.0.0.1:");
  CHECK_INT(n, PARTS);
  for (int32_t i = 0; i < n; i++) {
    guest* g = &p->guests[p->n++];
    g->rogue = p->rogues[i];
    CHECK(cpl_tlm_join_file("keys", parts[i], g->file, sizeof g->file));
    CHECK(pthread_create(&g->thread, NULL, take_part, g) == 0);
  }
  return CPL_OK;
}

static void all_leave(party* p) {
  for (int i = 0; i < p->n; i++) pthread_join(p->guests[i].thread, NULL);
}

static cpl_tlm_serve_def serve_party(party* p) {
  cpl_tlm_serve_def serve = cpl_default_tlm_serve_def();
  mkdir("keys", 0700);
  serve.folder = "keys";
  serve.overwrite = true;
  serve.start_limit = 60;
  serve.on_ready = invite_all;
  serve.on_waiting = p->on_waiting;
  serve.user = p;
  return serve;
}

static double pieces_of(const cpl_stepper* s) {
  cpl_inspection in;
  CHECK(cpl_component_inspect(&s->base, 0, &in) == CPL_OK);
  return cpl_inspection_counter(&in, "pieces");
}

static void no_bit_changes(void** state) {
  (void)state;
  double here[POINTS][NAMES], there[POINTS][NAMES];
  bench a = three_masses();
  a.def.threads = 1;
  run_it(&a, here);
  double pieces = pieces_of(a.s);
  bench_end(&a);
  party p = {0};
  cpl_tlm_serve_def serve = serve_party(&p);
  bench b = three_masses();
  b.def.serve = &serve;
  run_it(&b, there);
  CHECK_INT(pieces_of(b.s), pieces);
  bench_end(&b);
  all_leave(&p);
  for (int i = 0; i < p.n; i++) {
    if (p.guests[i].st < 0) fail_msg("%s: %s", p.guests[i].file, p.guests[i].error);
    CHECK(access(p.guests[i].file, F_OK) != 0);
  }
  CHECK(memcmp(here, there, sizeof here) == 0);
  CHECK(there[POINTS - 1][3] != 0);
}

//------------------------------------ those who break the rules
//------------------------------------

// Serves until it fails, and tells how.
static void expect_failure(party* p, const char* part, const char* message) {
  cpl_tlm_serve_def serve = serve_party(p);
  bench b = three_masses();
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1e6};
  b.def.serve = &serve;
  b.def.parts = b.parts, b.def.interfaces = b.interfaces, b.def.lines = b.lines;
  cpl_status st = cpl_tlm(b.ctx, &b.def, &b.s);
  cpl_component* c = b.s != NULL ? &b.s->base : NULL;
  if (st >= 0) st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  for (int i = 0; i < 100000 && st >= 0; i++) {
    cpl_step_result r;
    st = b.s->ops->step(b.s, 0.01 * (i + 1), 0.01 * (i + 1), &r);
  }
  CHECK_INT(st, CPL_ERR_MODEL);
  CHECK(strncmp(cpl_context_error(b.ctx), part, strlen(part)) == 0);
  CHECK_CONTAINS(cpl_context_error(b.ctx), message);
  bench_end(&b);
  all_leave(p);
  for (int i = 0; i < p->n; i++) {
    if (p->rogues[i] != NULL) continue;
    CHECK(p->guests[i].st < 0);  // who came when it was over already found nobody
    if (p->guests[i].st == CPL_ERR_CANCELLED) CHECK_CONTAINS(p->guests[i].error, message);
  }
}

// Has a key and a right to talk, but says what nobody expects.
static cpl_status say_garbage(cpl_tlm_join* j, cpl_stepper* s) {
  (void)s;
  cpli_join_begin(j, CPLI_MSG_READY);
  cpli_put_text(&j->out, "nonsense");
  return cpli_join_post(j);
}

static void garbage_to_the_manager(void** state) {
  (void)state;
  party p = {.rogues = {NULL, say_garbage, NULL}};
  expect_failure(&p, "right", "it sent an invalid message");
}

// The manager reads nothing while this one says something right, then nonsense, and leaves.
static struct { atomic_bool has_joined, is_waited_for; } in_a_hurry;

static cpl_status say_garbage_and_leave(cpl_tlm_join* j, cpl_stepper* s) {
  in_a_hurry.has_joined = true;
  while (!in_a_hurry.is_waited_for) usleep(1000);
  cpli_join_begin(j, CPLI_MSG_STATE);
  cpli_put_real(&j->out, 0);
  CHECK_OK(j->ctx, cpli_join_post(j));
  return say_garbage(j, s);
}

static cpl_status wait_until_it_left(void* user, const char* missing, double waited) {
  party* p = user;
  (void)missing, (void)waited;
  if (!in_a_hurry.has_joined || in_a_hurry.is_waited_for) return CPL_OK;
  in_a_hurry.is_waited_for = true;
  while (!p->guests[1].has_left) usleep(1000);
  usleep(300 * 1000);
  return CPL_OK;
}

static void what_was_said_before_leaving_counts(void** state) {
  (void)state;
  party p = {.rogues = {NULL, say_garbage_and_leave, NULL}, .on_waiting = wait_until_it_left};
  expect_failure(&p, "right", "it sent an invalid message");
}

static cpl_status speak_for_others(cpl_tlm_join* j, cpl_stepper* s) {
  (void)s;
  j->part = 0;
  cpli_join_begin(j, CPLI_MSG_MET);
  return cpli_join_post(j);
}

static void nobody_speaks_for_others(void** state) {
  (void)state;
  party p = {.rogues = {NULL, speak_for_others, NULL}};
  expect_failure(&p, "right", "it has another sender");
}

// Meets its neighbours as it should, and then sends one of them a wave that cannot be.
static cpl_status send_wave(cpl_tlm_join* j, cpl_stepper* s, double from, double to) {
  cpli_message_kind kind;
  j->m = cpli_tlm_of(s);
  cpl_status st = cpli_join_listen(j);
  cpli_join_begin(j, CPLI_MSG_READY);
  cpli_put_u64(&j->out, cpli_tlm_fingerprint(j->m));
  cpli_put_text(&j->out, j->waves.endpoint);
  if (st >= 0) st = cpli_join_post(j);
  if (st >= 0) st = cpli_join_handshake(j);
  if (st < 0) return st;
  cpli_neighbour* n = &j->neighbours[0];
  cpli_put_head(&j->out, &(cpli_head){CPLI_MSG_WAVE, j->file.session, j->part, n->part, n->sent++});
  cpli_put_real(&j->out, to);
  cpli_put_u8(&j->out, 0);
  cpli_put_u32(&j->out, 1);
  cpli_put_segment(&j->out, 1, 1, &(cpli_segment){.from = from, .to = to});
  CHECK(cpli_socket_send(n->connects ? &n->socket : &j->waves, n->connects ? NULL : &n->route,
                         &j->out));
  while (st >= 0 && !j->over) {  // else it does what it is asked, as far as it comes
    st = cpli_join_next_message(j, 0.1, &kind);
    if (st < 0 || j->over || kind != CPLI_MSG_CALL) continue;
    cpli_tlm_call call = (cpli_tlm_call)j->in.bytes.data[CPLI_HEAD_SIZE];
    if (call == CPLI_CALL_START || call == CPLI_CALL_RUN) {
      cpli_join_begin(j, CPLI_MSG_REPLY);
      cpli_put_u8(&j->out, (uint8_t)call);
      cpli_put_u32(&j->out, 0);
      cpli_put_text(&j->out, "");
      if (call == CPLI_CALL_START) st = cpli_join_post(j);
    } else {
      st = cpli_join_answer(j);
    }
  }
  return st;
}

// The delay of the line is 1e-3: the neighbour has come to 1e-3 at most without a wave, and can get
// waves up to 2e-3.
static cpl_status send_gap(cpl_tlm_join* j, cpl_stepper* s) { return send_wave(j, s, 2e-4, 5e-4); }
static cpl_status send_early(cpl_tlm_join* j, cpl_stepper* s) { return send_wave(j, s, 0, 2.5e-3); }

static void garbage_to_a_neighbour(void** state) {
  (void)state;
  party p = {.rogues = {NULL, send_gap, NULL}};
  expect_failure(&p, "right", "it sends invalid data: waves that do not continue the ones before");
}

static void waves_ahead_of_the_delay_are_refused(void** state) {
  (void)state;
  party p = {.rogues = {NULL, send_early, NULL}};
  expect_failure(&p, "right",
                 "it sends invalid data: waves farther ahead than the delay of the line allows");
}

// Says hello a second time, in all the wrong ways, and then takes part as it should.
static cpl_status knock_and_run(cpl_tlm_join* j, cpl_stepper* s) {
  cpli_socket second;
  cpli_packet w = {.ctx = j->ctx};
  cpl_status st = cpli_net_connect(j->net, &cpli_endpoint_control, j->file.address,
                                   j->file.server_key, &j->file.keys, &second);
  for (int i = 0; i < 300 && st >= 0; i++) {
    cpli_put_head(&w, &(cpli_head){CPLI_MSG_HELLO, j->file.session, CPLI_NOBODY, CPLI_MANAGER, 0});
    cpli_put_text(&w, j->file.part);
    for (uint32_t k = random_number() % 4; k > 0; k--)
      w.data[random_number() % w.n] = (uint8_t)random_number();
    if (random_number() % 4 == 0) w.n = random_number() % w.n;
    CHECK(cpli_socket_send(&second, NULL, &w));
  }
  cpli_packet_free(&w);
  if (st >= 0) st = cpl_tlm_join_run(j, s);
  cpli_socket_close(&second);
  return st;
}

static void who_joined_is_not_disturbed(void** state) {
  (void)state;
  double out[POINTS][NAMES];
  party p = {.rogues = {NULL, knock_and_run, NULL}};
  cpl_tlm_serve_def serve = serve_party(&p);
  bench b = three_masses();
  b.def.serve = &serve;
  run_it(&b, out);
  bench_end(&b);
  all_leave(&p);
  for (int i = 0; i < p.n; i++) CHECK_INT(p.guests[i].st, CPL_OK);
}

//------------------------------------ the log ------------------------------------

enum { KNOCKS = 400, LINES_A_SECOND = 3 };

static struct {
  int lines, turned_away;
  double first, last;
} logged;

static void count_turned_away(void* user, cpl_log_level level, const char* who, const char* text) {
  int more = 0;
  (void)user, (void)level, (void)who;
  if (strstr(text, "a peer was rejected") == NULL) return;
  bool sum = sscanf(text, "a peer was rejected %d more times", &more) == 1;
  logged.lines += !sum;
  logged.turned_away += sum ? more : 1;
  logged.last = cpli_now();
  if (logged.first == 0) logged.first = logged.last;
}

// Joins again and again, and is told each time that it has joined already.
static cpl_status knock_often(cpl_tlm_join* j, cpl_stepper* s) {
  cpli_socket second;
  cpli_packet w = {.ctx = j->ctx};
  cpli_incoming in = {0};
  cpl_status st = cpli_net_connect(j->net, &cpli_endpoint_control, j->file.address,
                                   j->file.server_key, &j->file.keys, &second);
  for (int i = 0; i < KNOCKS && st >= 0; i++) {
    cpli_put_head(&w, &(cpli_head){CPLI_MSG_HELLO, j->file.session, CPLI_NOBODY, CPLI_MANAGER, 0});
    cpli_put_text(&w, j->file.part);
    CHECK(cpli_socket_send(&second, NULL, &w));
    while (!cpli_socket_receive(&second, false, &in)) usleep(100);
  }
  cpli_incoming_close(j->net->z, &in);
  cpli_packet_free(&w);
  if (st >= 0) st = cpl_tlm_join_run(j, s);
  cpli_socket_close(&second);
  return st;
}

// A few lines a second, and the number of those that were left out: none is missing.
static void who_is_turned_away_fills_no_log(void** state) {
  (void)state;
  double out[POINTS][NAMES];
  party p = {.rogues = {NULL, knock_often, NULL}};
  cpl_tlm_serve_def serve = serve_party(&p);
  bench b = three_masses();
  b.def.serve = &serve;
  cpli_log_to(b.ctx, count_turned_away, NULL);
  run_it(&b, out);
  bench_end(&b);
  all_leave(&p);
  for (int i = 0; i < p.n; i++) CHECK_INT(p.guests[i].st, CPL_OK);
  CHECK_INT(logged.turned_away, KNOCKS);
  CHECK(logged.lines >= LINES_A_SECOND);
  CHECK(logged.lines <= LINES_A_SECOND * (2 + (int)(logged.last - logged.first)));
}

// Something that the manager can ask for, as it would.
static void write_call(cpli_packet* w, cpli_tlm_call call, uint32_t ref) {
  cpli_put_head(w, &expected_wave);
  cpli_put_u8(w, (uint8_t)call);
  if (call == CPLI_CALL_SETUP || call == CPLI_CALL_RUN) cpli_put_real(w, 0.01);
  if (call == CPLI_CALL_SETUP) {
    cpli_put_u8(w, 1), cpli_put_real(w, 1), cpli_put_u8(w, 0), cpli_put_real(w, 0);
  } else if (call == CPLI_CALL_RUN) {
    cpli_put_u8(w, 1), cpli_put_u8(w, 1), cpli_put_u32(w, 1);
    cpli_put_u32(w, CPL_REAL), cpli_put_u32(w, ref);
  } else if (call == CPLI_CALL_SET_CURVE) {
    cpli_put_u32(w, ref), cpli_put_real(w, 0), cpli_put_u32(w, 1);
    for (size_t i = 0; i < CPLI_COUNT(((cpl_curve*)0)->coefficient); i++) cpli_put_real(w, 1);
  } else if (call == CPLI_CALL_START) {
    cpli_put_u32(w, 2);
    for (uint32_t i = 0; i < 2; i++) cpli_put_u32(w, i), cpli_put_u32(w, ref), cpli_put_real(w, 1);
  } else if (call >= CPLI_CALL_GET_REAL) {
    if (call == CPLI_CALL_GET_INTEGER || call == CPLI_CALL_SET_INTEGER)
      cpli_put_u32(w, CPL_INTEGER);
    cpli_put_u32(w, 2), cpli_put_u32(w, ref), cpli_put_u32(w, ref);
    if (call == CPLI_CALL_SET_REAL) cpli_put_real(w, 1), cpli_put_real(w, 2);
    if (call == CPLI_CALL_SET_STRING) cpli_put_text(w, "one"), cpli_put_text(w, "two");
  }
}

// Bytes that end where the allocation ends, so that sanitizers see any step too far.
static cpl_status answer(cpl_tlm_join* j, const cpli_packet* w, size_t n) {
  uint8_t* copy = malloc(n);
  assert_non_null(copy);
  memcpy(copy, w->data, n);
  j->in.bytes = (cpli_bytes){.data = copy, .n = n, .at = CPLI_HEAD_SIZE};
  cpl_status st = cpli_join_answer(j);
  free(copy);
  return st;
}

// Is asked for everything, changed at random; nothing of it leaves.
static cpl_status is_asked_for_garbage(cpl_tlm_join* j, cpl_stepper* s) {
  cpli_packet w = {.ctx = j->ctx};
  void* control = j->control.s;
  j->m = cpli_tlm_of(s);
  j->pace = 1e-9;
  CHECK_OK(j->ctx, cpli_join_listen(j));
  j->control.s = NULL;
  for (cpli_tlm_call c = CPLI_CALL_SETUP; c <= CPLI_CALL_EXIT_INIT; c++) {
    write_call(&w, c, 0);
    answer(j, &w, w.n);
  }
  CHECK(j->m->running);
  int64_t taken = 0;
  for (int i = 0; i < 20000; i++) {
    const cpl_description* d = j->m->parts[j->part].s->base.desc;
    uint32_t calls = CPLI_CALLS - CPLI_CALL_GET_REAL;
    write_call(&w, (cpli_tlm_call)(CPLI_CALL_GET_REAL + random_number() % calls),
               d->vars[random_number() % (uint32_t)d->n_vars].ref);
    for (uint32_t k = random_number() % 4; k > 0; k--)
      w.data[CPLI_HEAD_SIZE + 1 + random_number() % (w.n - CPLI_HEAD_SIZE - 1)] =
          (uint8_t)(random_number() >> random_number() % 8);
    j->over = true;  // it waits for nothing
    answer(j, &w, random_number() % 4 == 0 ? CPLI_HEAD_SIZE + random_number() % 8 : w.n);
    taken += j->body.n > 0;
  }
  CHECK(taken > 200);
  cpli_packet_free(&w);
  j->control.s = control;
  j->over = false;
  return say_garbage(j, s);
}

static void garbage_of_the_manager(void** state) {
  (void)state;
  party p = {.rogues = {is_asked_for_garbage, NULL, NULL}};
  expect_failure(&p, "left", "it sent an invalid message");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(garbage_is_refused),
      cmocka_unit_test(join_files_are_private),
      cmocka_unit_test(no_bit_changes),
      cmocka_unit_test(garbage_to_the_manager),
      cmocka_unit_test(nobody_speaks_for_others),
      cmocka_unit_test(who_is_turned_away_fills_no_log),
      cmocka_unit_test(waves_ahead_of_the_delay_are_refused),
      cmocka_unit_test(garbage_to_a_neighbour),
      cmocka_unit_test(who_joined_is_not_disturbed),
      cmocka_unit_test(garbage_of_the_manager),
      cmocka_unit_test(what_was_said_before_leaving_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
