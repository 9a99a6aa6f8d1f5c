// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parcels: what is put arrives at the same places, and one that is cut, or names what lies outside
// of its memory, is refused.
#include "base/link_wire.h"

#include "testing.h"

enum { SIZE = 4096 };

static cpli_parcel parcel_of(const char* data) {
  cpli_parcel p = {.data = (uintptr_t)data, .size = SIZE, .n_messages = 5};
  p.pieces[0] = (cpli_extent){0, 13};
  p.pieces[1] = (cpli_extent){1000, 3};
  p.pieces[2] = (cpli_extent){SIZE - 1, 1};
  return p;
}

static void pieces_arrive_where_they_were(void** state) {
  (void)state;
  static char data[SIZE], to[SIZE];
  cpl_context* ctx = test_context();
  cpli_buffer b = {NULL, 0, 0};
  for (int i = 0; i < SIZE; i++) data[i] = (char)(i % 251 + 1);
  const cpli_parcel p = parcel_of(data);
  CHECK(cpli_parcel_put(ctx, &b, &p, "four"));
  CHECK(cpli_parcel_put(ctx, &b, &p, "five"));
  size_t at = 0;
  const char* messages;
  const cpli_parcel* got = cpli_parcel_take(&b, &at, to, SIZE, &messages);
  CHECK(got != NULL && got->n_messages == 5);
  CHECK_STR(messages, "four");
  for (int i = 0; i < SIZE; i++) {
    const bool sent = i < 13 || (i >= 1000 && i < 1003) || i == SIZE - 1;
    CHECK_INT(to[i], sent ? data[i] : 0);
  }
  CHECK(cpli_parcel_take(&b, &at, NULL, SIZE, &messages) != NULL);
  CHECK_STR(messages, "five");
  CHECK_INT(at, b.size);
  CHECK(cpli_parcel_take(&b, &at, to, SIZE, &messages) == NULL);
  cpli_free(ctx, b.data);
  cpl_context_destroy(ctx);
}

static void what_is_cut_or_outside_is_refused(void** state) {
  (void)state;
  static char data[SIZE], to[SIZE];
  cpl_context* ctx = test_context();
  cpli_buffer b = {NULL, 0, 0};
  const cpli_parcel p = parcel_of(data);
  CHECK(cpli_parcel_put(ctx, &b, &p, "four"));
  const char* messages;
  const size_t size = b.size;
  for (b.size = 0; b.size < size; b.size++) {
    size_t at = 0;
    CHECK(cpli_parcel_take(&b, &at, to, SIZE, &messages) == NULL);
  }
  static const cpli_extent wrong[] = {{SIZE, 1}, {0, SIZE + 1}, {SIZE_MAX, 2}, {2, SIZE_MAX - 1}};
  for (size_t i = 0; i < CPLI_COUNT(wrong); i++) {
    size_t at = 0;
    ((cpli_parcel*)(void*)b.data)->pieces[2] = wrong[i];
    CHECK(cpli_parcel_take(&b, &at, to, SIZE, &messages) == NULL);
  }
  cpli_free(ctx, b.data);
  cpl_context_destroy(ctx);
}

static void all_ranks_can_have_the_same_addresses(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char *first = NULL, *again = NULL;
  CHECK_OK(ctx, cpli_link_reserve(ctx, NULL, &first));
  CHECK(cpli_link_use(first + 4096, 8192));
  first[4096] = first[3 * 4096 - 1] = 7;
  CHECK(cpli_link_use(first + 4096, 8192));
  CHECK_INT(first[4096], 0);                                              // of a new channel
  CHECK_INT(cpli_link_reserve(ctx, first, &again), CPL_ERR_UNSUPPORTED);  // taken
  CHECK_CONTAINS(cpl_context_error(ctx), "addresses");
  cpli_link_release(first);
  CHECK_OK(ctx, cpli_link_reserve(ctx, first, &again));
  CHECK(again == first);
  cpli_link_release(again);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_arrive_where_they_were),
      cmocka_unit_test(what_is_cut_or_outside_is_refused),
      cmocka_unit_test(all_ranks_can_have_the_same_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
