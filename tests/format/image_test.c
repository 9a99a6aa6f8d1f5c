// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Images of structs with all kinds of members: the bytes are those that the format says, reading
// gives back every member, and bytes that are damaged, cut, of another struct or of a recursion
// without end are refused without much memory.
#include "format/image.h"

#include "testing.h"

typedef struct leaf {
  double value;
  int8_t small;
} leaf;

typedef enum colour { RED, GREEN, BLUE } colour;

typedef struct tree {
  const char *name, *comment;
  bool flag;
  uint16_t half;
  int64_t whole;
  size_t size;
  colour colour;
  int16_t triple[3];
  leaf inside, pair[2];
  const struct tree* next;
  const leaf* leaves;
  int32_t n_leaves;
  const uint32_t* numbers;
  const uint8_t* bytes;
  size_t n_numbers;
  const char** texts;
  int32_t n_texts;
  const double* computed;  // as many as `half`. Nullable
} tree;

static const cpli_image_field leaf_fields[] = {
    CPLI_NUMBER(leaf, value),
    CPLI_NUMBER(leaf, small),
};
static CPLI_IMAGE_TYPE(leaf_image, leaf, 16, leaf_fields);

static size_t count_half(const void* owner) { return ((const tree*)owner)->half; }

static const cpli_image_type tree_image;
static const cpli_image_field tree_fields[] = {
    CPLI_NAME(tree, name),
    CPLI_TEXT(tree, comment),
    CPLI_BOOL(tree, flag),
    CPLI_NUMBER(tree, half),
    CPLI_NUMBER(tree, whole),
    CPLI_SIZE(tree, size),
    CPLI_ENUM(tree, colour, BLUE),
    CPLI_ARRAY(tree, triple),
    CPLI_STRUCT(tree, inside, &leaf_image),
    CPLI_STRUCTS(tree, pair, &leaf_image),
    CPLI_POINTER(tree, next, &tree_image),
    CPLI_NUMBER(tree, n_leaves),
    CPLI_STRUCT_LIST(tree, leaves, n_leaves, &leaf_image),
    CPLI_SIZE(tree, n_numbers),
    CPLI_NUMBER_LIST(tree, numbers, n_numbers),
    CPLI_NUMBER_LIST(tree, bytes, n_numbers),
    CPLI_NUMBER(tree, n_texts),
    CPLI_TEXT_LIST(tree, texts, n_texts),
    CPLI_COMPUTED_LIST(tree, computed, count_half, false),
};
static CPLI_IMAGE_TYPE(tree_image, tree, 176, tree_fields);

static const tree inner = {.name = "inner", .half = 9, .whole = -1};
static const tree sample = {
    .name = "outer",
    .comment = "",
    .flag = true,
    .half = 2,
    .whole = -0x0123456789abcdef,
    .size = 77,
    .colour = BLUE,
    .triple = {-1, 2, -30000},
    .inside = {0.1, -128},
    .pair = {{INFINITY, 1}, {-0.0, 2}},
    .next = &inner,
    .leaves = (leaf[]){{1, 1}, {2, 2}, {3, 3}},
    .n_leaves = 3,
    .numbers = (uint32_t[]){0, 4000000000u},
    .bytes = (uint8_t[]){7, 255},
    .n_numbers = 2,
    .texts = (const char*[]){"inner", "outer", "more"},
    .n_texts = 3,
    .computed = (double[]){0.5, -2},
};

static void check_sample(const tree* t) {
  CHECK_STR(t->name, "outer");
  CHECK_STR(t->comment, "");
  CHECK(t->flag && t->half == 2 && t->whole == -0x0123456789abcdef && t->size == 77);
  CHECK(t->colour == BLUE && t->triple[0] == -1 && t->triple[1] == 2 && t->triple[2] == -30000);
  CHECK(t->inside.value == 0.1 && t->inside.small == -128);
  CHECK(isinf(t->pair[0].value) && t->pair[0].small == 1);
  CHECK(t->pair[1].value == 0 && signbit(t->pair[1].value) && t->pair[1].small == 2);
  CHECK(t->n_leaves == 3 && t->leaves[1].value == 2 && t->leaves[2].small == 3);
  CHECK(t->n_numbers == 2 && t->numbers[0] == 0 && t->numbers[1] == 4000000000u);
  CHECK(t->bytes[0] == 7 && t->bytes[1] == 255);
  CHECK_INT(t->n_texts, 3);
  CHECK(t->texts[1] == t->name);  // each text is stored once
  CHECK_STR(t->texts[2], "more");
  CHECK(t->computed[0] == 0.5 && t->computed[1] == -2);
  CHECK_STR(t->next->name, "inner");
  CHECK(t->next->name == t->texts[0] && t->next->comment == NULL && !t->next->flag);
  CHECK(t->next->half == 9 && t->next->computed == NULL && t->next->whole == -1);
  CHECK(t->next->next == NULL && t->next->leaves == NULL && t->next->texts == NULL);
}

typedef struct fixture {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_image image;
  tree out;
} fixture;

static void begin(fixture* f, const tree* of) {
  *f = (fixture){.ctx = test_context()};
  cpli_arena_init(&f->arena, f->ctx);
  CHECK_OK(f->ctx, cpli_image_write(f->ctx, &tree_image, of, &f->image));
}

static cpl_status read_back(fixture* f) {
  f->out = (tree){0};
  return cpli_image_read(f->ctx, &f->arena, &tree_image, f->image.bytes, f->image.size, &f->out);
}

static void end(fixture* f) {
  cpli_free(f->ctx, f->image.bytes);
  cpli_arena_free(&f->arena);
  cpl_context_destroy(f->ctx);
}

static void test_every_kind_of_member_is_read_back(void** state) {
  (void)state;
  fixture f;
  begin(&f, &sample);
  CHECK_OK(f.ctx, read_back(&f));
  check_sample(&f.out);
  end(&f);
}

// The bytes by hand: texts, then the members with the lowest byte first.
static void test_bytes_are_those_of_the_format(void** state) {
  (void)state;
  static const unsigned char expected[] = {
      'n',  0,                                   // the only text
      1,    0,    0,    0,                       // name
      0,    0,    0,    0,                       // comment: NULL
      1,                                         // flag
      1,    2,                                   // half
      0x78, 0x56, 0x34, 0x12, 0, 0, 0,    0,     // whole
      5,    0,    0,    0,    0, 0, 0,    0,     // size
      1,    0,    0,    0,                       // colour
      0xfe, 0xff, 0,    0,    3, 0,              // triple
      0,    0,    0,    0,    0, 0, 0xe0, 0x3f,  // 0.5
      0xff,                                      // small
  };
  const tree t = {.name = "n",
                  .flag = true,
                  .half = 0x201,
                  .whole = 0x12345678,
                  .size = 5,
                  .colour = GREEN,
                  .triple = {-2, 0, 3},
                  .inside = {0.5, -1}};
  fixture f;
  begin(&f, &t);
  CHECK(memcmp(f.image.bytes, "cplimage\1\0\0\0\1\0\0\0", 16) == 0);
  CHECK(memcmp(f.image.bytes + 48, expected, sizeof expected) == 0);
  // the pair, no pointer, and five empty lists: their numbers and that they are NULL
  CHECK_INT(f.image.size, 48 + sizeof expected + 18 + 1 + 5 + 8 + 1 + 1 + 5 + 1);
  end(&f);
}

static void test_damaged_bytes_are_refused(void** state) {
  (void)state;
  fixture f;
  begin(&f, &sample);
  for (size_t i = 0; i < f.image.size; i++) {
    f.image.bytes[i] ^= 0x10;
    CHECK_INT(read_back(&f), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(f.ctx), "tree");
    f.image.bytes[i] ^= 0x10;
  }
  const size_t whole = f.image.size;
  for (f.image.size = 0; f.image.size < whole; f.image.size++)
    CHECK_INT(read_back(&f), CPL_ERR_INPUT);
  CHECK_OK(f.ctx, read_back(&f));
  end(&f);
}

// Damage that the hash does not show: no crash, and a text is where one must be.
static void test_damage_with_a_valid_hash(void** state) {
  (void)state;
  fixture f;
  begin(&f, &sample);
  int refused = 0;
  for (size_t i = 0; i < f.image.size; i++) {
    for (int change = 1; change < 512; change = 2 * change + change % 3 / 2) {
      f.image.bytes[i] = (unsigned char)(f.image.bytes[i] ^ change);
      cpli_image_seal(&tree_image, f.image.bytes, f.image.size);
      cpl_status st = read_back(&f);
      CHECK(st == CPL_OK || st == CPL_ERR_INPUT);
      if (st < 0) refused++;
      else CHECK(f.out.name != NULL && f.out.colour <= BLUE && strlen(f.out.name) < 100);
      f.image.bytes[i] = (unsigned char)(f.image.bytes[i] ^ change);
    }
    cpli_arena_free(&f.arena);
    cpli_arena_init(&f.arena, f.ctx);
  }
  CHECK(refused > 300);
  // without its end
  for (size_t size = f.image.size; size-- > 0;) {
    f.image.size = size;
    cpli_image_seal(&tree_image, f.image.bytes, size);
    CHECK_INT(read_back(&f), CPL_ERR_INPUT);
  }
  end(&f);
}

static void test_another_struct_is_refused(void** state) {
  (void)state;
  fixture f;
  begin(&f, &sample);
  leaf out;
  CHECK_INT(cpli_image_read(f.ctx, &f.arena, &leaf_image, f.image.bytes, f.image.size, &out),
            CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "another version of couplet");
  end(&f);
}

static void test_what_cannot_be_written(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_image image;
  tree t = {.name = NULL};
  CHECK_INT(cpli_image_write(ctx, &tree_image, &t, &image), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "tree.name");
  t = (tree){.name = "x", .colour = (colour)3};
  CHECK_INT(cpli_image_write(ctx, &tree_image, &t, &image), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "tree.colour");
  t = (tree){.name = "x", .n_leaves = 1};
  CHECK_INT(cpli_image_write(ctx, &tree_image, &t, &image), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "tree.leaves");
  t = (tree){.name = "x", .n_leaves = -1};
  CHECK_INT(cpli_image_write(ctx, &tree_image, &t, &image), CPL_ERR_UNSUPPORTED);
  tree endless = {.name = "x", .next = &endless};
  CHECK_INT(cpli_image_write(ctx, &tree_image, &endless, &image), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "inside each other");
  CHECK(image.bytes == NULL);
  cpl_context_destroy(ctx);
}

// An allocator with a limit of one allocation.
static void* limited_realloc(void* user, void* ptr, size_t size) {
  (void)user;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return size < 1 << 16 ? realloc(ptr, size) : NULL;
}

static void test_numbers_of_lists_need_bytes(void** state) {
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.realloc = limited_realloc;
  fixture f = {.ctx = cpl_context_create(&def)};
  cpli_arena_init(&f.arena, f.ctx);
  const tree t = {.name = "n", .n_leaves = 1, .leaves = (leaf[]){{0.5, 3}}};
  CHECK_OK(f.ctx, cpli_image_write(f.ctx, &tree_image, &t, &f.image));
  // the number of leaves stands before "1, 0.5, 3"
  static const unsigned char leaves[] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 3};
  unsigned char* at = memmem(f.image.bytes, f.image.size, leaves, sizeof leaves);
  CHECK(at != NULL);
  at[3] = 0x7f;
  cpli_image_seal(&tree_image, f.image.bytes, f.image.size);
  CHECK_INT(read_back(&f), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "tree.leaves");
  end(&f);
}

static void test_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_arena arena;
    cpli_arena_init(&arena, ctx);
    cpli_image image = {0};
    tree out = {0};
    heap.fail_at = heap.calls + n;
    cpl_status st = cpli_image_write(ctx, &tree_image, &sample, &image);
    if (st >= 0) st = cpli_image_read(ctx, &arena, &tree_image, image.bytes, image.size, &out);
    cpli_free(ctx, image.bytes);
    if (st >= 0) check_sample(&out);
    else CHECK_INT(st, CPL_ERR_NOMEM);
    cpli_arena_free(&arena);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind_of_member_is_read_back),
      cmocka_unit_test(test_bytes_are_those_of_the_format),
      cmocka_unit_test(test_damaged_bytes_are_refused),
      cmocka_unit_test(test_damage_with_a_valid_hash),
      cmocka_unit_test(test_another_struct_is_refused),
      cmocka_unit_test(test_what_cannot_be_written),
      cmocka_unit_test(test_numbers_of_lists_need_bytes),
      cmocka_unit_test(test_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
