// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connections that want to fill memory: strangers before they have shown a key, and neighbours that
// have one. Everything stays on the loopback interface and is limited in number and time.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"
#include "tlm/net.h"

static double resident_mb(void) {
  long pages = 0, ignored = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  assert_non_null(f);
  CHECK_INT(fscanf(f, "%ld %ld", &ignored, &pages), 2);
  fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

typedef struct door_pair {
  cpl_context* ctx;
  cpli_net* net;
  cpli_keys server, client;
  cpli_socket listening;
} door_pair;

static door_pair open_door(const cpli_endpoint* door) {
  door_pair p = {.ctx = test_context()};
  CHECK_OK(p.ctx, cpli_net_open(p.ctx, &p.net));
  CHECK_OK(p.ctx, cpli_net_keys(p.net, &p.server));
  CHECK_OK(p.ctx, cpli_net_keys(p.net, &p.client));
  CHECK_OK(p.ctx, cpli_net_allow(p.net, door, p.client.public_key, "neighbour"));
  CHECK_OK(p.ctx, cpli_net_listen(p.net, door, &p.server, "127.0.0.1", &p.listening));
  return p;
}

static void close_door(door_pair* p) {
  cpli_socket_close(&p->listening);
  cpli_net_close(p->net);
  cpl_context_destroy(p->ctx);
}

//------------------------------------ strangers ------------------------------------

enum { STRANGERS = 30, MAX_EACH = 15 << 20 };

static int connect_to(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr*)&at, sizeof at) != 0) _exit(2);
  return fd;
}

// The greeting of ZMTP 3.0 with the mechanism CURVE, then the head of a frame of 15 MB: of a
// message or of a command.
static int begin_to_talk(int port, bool command) {
  uint8_t hello[64 + 9] = {0xff, [9] = 0x7f, [10] = 3, [12] = 'C', 'U', 'R', 'V', 'E'};
  int fd = connect_to(port);
  hello[64] = command ? 6 : 2;
  for (int i = 0; i < 8; i++) hello[65 + i] = (uint8_t)((uint64_t)MAX_EACH >> (56 - 8 * i));
  if (write(fd, hello, sizeof hello) != (ssize_t)sizeof hello) _exit(3);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

// All of them send as long as anything is taken, for at most five seconds; then they wait for a
// byte, with their connections open.
static void behave_as_strangers(int port, int from_parent, int to_parent) {
  static char data[1 << 16];
  int fds[STRANGERS];
  size_t sent[STRANGERS] = {0};
  char byte = 0;
  signal(SIGPIPE, SIG_IGN);
  alarm(60);  // also when the test has failed meanwhile
  for (int i = 0; i < STRANGERS; i++) fds[i] = begin_to_talk(port, i % 2);
  for (int quiet = 0, round = 0; quiet < 50 && round < 500; round++) {
    bool any = false;
    for (int i = 0; i < STRANGERS; i++) {
      for (ssize_t n = 1; n > 0 && sent[i] < MAX_EACH - sizeof data;) {
        n = write(fds[i], data, sizeof data);
        if (n > 0) sent[i] += (size_t)n, any = true;
      }
    }
    quiet = any ? 0 : quiet + 1;
    usleep(10000);
  }
  if (write(to_parent, &byte, 1) != 1 || read(from_parent, &byte, 1) < 0) _exit(4);
  _exit(0);
}

static void take_one(door_pair* p, cpli_incoming* in) {
  for (int i = 0; i < 60000; i++) {
    if (cpli_socket_receive(&p->listening, true, in)) return;
    usleep(1000);
  }
  fail_msg("nothing arrived");
}

static void write_number(cpli_packet* w, uint64_t number, size_t n) {
  cpli_put_head(w, &(cpli_head){CPLI_MSG_WAVE, 1, 0, 1, number});
  while (w->n < n) cpli_put_u8(w, 7);
}

static void strangers_take_little_memory(void** state) {
  const cpli_endpoint* door = *state;
  door_pair p = open_door(door);
  int port = atoi(strrchr(p.listening.endpoint, ':') + 1), there[2], back[2], status;
  char byte = 0;
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  double before = resident_mb();
  pid_t child = fork();
  if (child == 0) behave_as_strangers(port, there[0], back[1]);
  CHECK_INT(read(back[0], &byte, 1), 1);
  double more = resident_mb() - before;
  if (more > 16) fail_msg("%d strangers take %.1f MB", STRANGERS, more);
  // and who has a key is served meanwhile
  if (door->type == ZMQ_ROUTER) {
    cpli_socket s;
    cpli_packet w = {.ctx = p.ctx};
    cpli_incoming in = {0};
    CHECK_OK(p.ctx, cpli_net_connect(p.net, door, p.listening.endpoint, p.server.public_key,
                                     &p.client, &s));
    write_number(&w, 5, (size_t)door->longest);
    CHECK(cpli_socket_send(&s, NULL, &w));
    take_one(&p, &in);
    CHECK_INT(in.bytes.n, door->longest);
    CHECK_STR(in.user, "neighbour");
    cpli_incoming_close(p.net->z, &in);
    cpli_packet_free(&w);
    cpli_socket_close(&s);
  }
  CHECK_INT(write(there[1], &byte, 1), 1);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (int i = 0; i < 2; i++) close(there[i]), close(back[i]);
  close_door(&p);
}

//------------------------------------ who has a key ------------------------------------

// A sender is told when too many messages wait; of those it could send none is lost.
static void queues_are_bounded(void** state) {
  enum { FAR_TOO_MANY = 200000 };
  cpli_endpoint door = *(const cpli_endpoint*)*state;
  door.silence = 600;  // on a machine that has much else to do
  door_pair p = open_door(&door);
  cpli_socket s;
  cpli_packet w = {.ctx = p.ctx};
  cpli_incoming in = {0};
  CHECK_OK(p.ctx, cpli_net_connect(p.net, &door, p.listening.endpoint, p.server.public_key,
                                   &p.client, &s));
  double before = resident_mb();
  uint64_t n = 0;
  for (int failures = 0; failures < 100 && n < FAR_TOO_MANY;) {
    write_number(&w, n, 1000);
    bool sent = cpli_socket_send(&s, NULL, &w);
    CHECK(sent || cpli_socket_is_full(&s));
    n += sent;
    failures = sent ? 0 : failures + 1;
    if (!sent) usleep(2000);
  }
  CHECK(n > 0 && n < FAR_TOO_MANY / 4);
  double more = resident_mb() - before;
#ifdef __SANITIZE_THREAD__
  more = 0;  // it remembers the accesses to all memory
#endif
  CHECK(more < 32);
  for (uint64_t i = 0; i < n; i++) {
    cpli_head head;
    take_one(&p, &in);
    CHECK(cpli_get_head(&in.bytes, &head) == NULL);
    CHECK_INT(head.sequence, i);
  }
  CHECK(!cpli_socket_receive(&p.listening, true, &in));
  cpli_incoming_close(p.net->z, &in);
  cpli_packet_free(&w);
  cpli_socket_close(&s);
  close_door(&p);
}

// Long messages pass in pieces, and are what they were.
static void long_messages_pass(void** state) {
  (void)state;
  static const size_t lengths[] = {CPLI_HEAD_SIZE, CPLI_FRAME_MOST, CPLI_FRAME_MOST + 1, 1000001,
                                   CPLI_MESSAGE_MOST};
  const cpli_endpoint* door = &cpli_endpoint_control;
  door_pair p = open_door(door);
  cpli_socket s;
  cpli_packet w = {.ctx = p.ctx}, pieces = {.ctx = p.ctx};
  cpli_incoming in = {0};
  uint64_t sent = 0, received = 0;
  CHECK_OK(p.ctx,
           cpli_net_connect(p.net, door, p.listening.endpoint, p.server.public_key, &p.client, &s));
  for (size_t k = 0; k < CPLI_COUNT(lengths); k++) {
    cpli_put_head(&w, &(cpli_head){CPLI_MSG_REPLY, 1, 0, 1, 0});
    while (w.n < lengths[k]) cpli_put_u8(&w, (uint8_t)(w.n * 31 >> 3));
    CHECK(cpli_socket_post(&s, NULL, &w, &sent));
    for (bool whole = false; !whole;) {
      cpli_head head, expected = {.session = 1, .to = 1, .sequence = received++};
      take_one(&p, &in);
      CHECK(in.bytes.n <= CPLI_FRAME_MOST);
      CHECK(cpli_expect(&in.bytes, &expected, &head) == NULL);
      CHECK(cpli_join_fragments(&pieces, head.kind, &in.bytes, &whole) == NULL);
      CHECK(whole == (head.kind == CPLI_MSG_REPLY));
    }
    CHECK_INT(in.bytes.n - in.bytes.at, lengths[k] - CPLI_HEAD_SIZE);
    const uint8_t* body = in.bytes.data + in.bytes.at;
    for (size_t i = 0; i < lengths[k] - CPLI_HEAD_SIZE; i++)
      assert_true(body[i] == (uint8_t)((i + CPLI_HEAD_SIZE) * 31 >> 3));
  }
  CHECK_INT(sent, received);
  // pieces without end are refused
  uint8_t bytes[CPLI_FRAME_MOST] = {0};
  const char* fault = NULL;
  bool whole;
  for (int i = 0; i < 2000 && fault == NULL; i++) {
    cpli_bytes piece = {.data = bytes, .n = sizeof bytes};
    fault = cpli_join_fragments(&pieces, CPLI_MSG_PIECE, &piece, &whole);
  }
  CHECK(fault != NULL && pieces.n <= CPLI_MESSAGE_MOST);
  cpli_incoming_close(p.net->z, &in);
  cpli_packet_free(&w);
  cpli_packet_free(&pieces);
  cpli_socket_close(&s);
  close_door(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(strangers_take_little_memory, (void*)&cpli_endpoint_control),
      cmocka_unit_test_prestate(strangers_take_little_memory, (void*)&cpli_endpoint_watch),
      cmocka_unit_test_prestate(strangers_take_little_memory, (void*)&cpli_endpoint_waves),
      cmocka_unit_test_prestate(queues_are_bounded, (void*)&cpli_endpoint_control),
      cmocka_unit_test_prestate(queues_are_bounded, (void*)&cpli_endpoint_waves),
      cmocka_unit_test(long_messages_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
