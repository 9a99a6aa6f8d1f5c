// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Structs as bytes and back. A constant table per struct lists its members; the same table writes
// and reads. Bytes do not depend on the compiler: numbers are little-endian and of fixed width, and
// each different text is stored once. An image begins with a mark, a version, a fingerprint of the
// tables, its size and a hash, so that damaged images and those of other versions are refused.
#pragma once

#include <assert.h>
#include <stddef.h>

#include "base/base.h"

typedef struct cpli_image_type cpli_image_type;

typedef enum cpli_image_kind {
  CPLI_IMAGE_NUMBER,   // of 1, 2, 4 or 8 bytes: integers, enumerations, double
  CPLI_IMAGE_BOOL,     // 0 or 1
  CPLI_IMAGE_SIZE,     // size_t
  CPLI_IMAGE_TEXT,     // const char*
  CPLI_IMAGE_STRUCT,   // inside of the struct
  CPLI_IMAGE_POINTER,  // to one struct. Nullable
  CPLI_IMAGE_LIST,     // pointer to structs, and their number in another member
  CPLI_IMAGE_NUMBERS,  // the same of numbers
  CPLI_IMAGE_TEXTS,    // the same of texts
} cpli_image_kind;

// One member of a struct. Use the macros below.
typedef struct cpli_image_field {
  const char* name;
  cpli_image_kind kind;
  bool required;   // a text that is not NULL; of a list all texts; it is NULL only if it is empty
  bool path;       // a text that names a file
  uint32_t size;   // of a number, or of one of a list
  uint32_t n;      // more than 1: an array inside of the struct
  uint32_t limit;  // of an enumeration: the largest value; 0: any
  size_t offset;
  size_t count, count_size;               // offset and size of the number of a list, or
  size_t (*count_of)(const void* owner);  // computed from members that precede it in the table
  const cpli_image_type* type;            // of a struct
} cpli_image_field;

struct cpli_image_type {
  const char* name;  // for messages
  size_t size;
  const cpli_image_field* fields;  // the number of a list stands before the list
  size_t n_fields;
};

//------------------------------------ tables ------------------------------------

#define CPLI_IMAGE_MEMBER(type, member) (((const type*)NULL)->member)
#define CPLI_IMAGE_FIELD(owner, member_) \
  .name = #member_, .offset = offsetof(owner, member_), .n = 1
#define CPLI_IMAGE_COUNT(owner, count_) \
  .count = offsetof(owner, count_), .count_size = sizeof CPLI_IMAGE_MEMBER(owner, count_)

#define CPLI_NUMBER(owner, member)                                                   \
  {                                                                                  \
    CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_NUMBER,                      \
                                     .size = sizeof CPLI_IMAGE_MEMBER(owner, member) \
  }
/// Values from 0 to `last`.
#define CPLI_ENUM(owner, member, last)                                                            \
  {                                                                                               \
    CPLI_IMAGE_FIELD(owner, member),                                                              \
        .kind = CPLI_IMAGE_NUMBER, .size = sizeof CPLI_IMAGE_MEMBER(owner, member), .limit = last \
  }
#define CPLI_BOOL(owner, member) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_BOOL }
#define CPLI_SIZE(owner, member) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_SIZE }
#define CPLI_TEXT(owner, member) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_TEXT }
/// A text that names a file.
#define CPLI_PATH(owner, member) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_TEXT, .path = true }
/// A text that is never NULL.
#define CPLI_NAME(owner, member) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_TEXT, .required = true }
/// An array of numbers inside of the struct.
#define CPLI_ARRAY(owner, member)                                                 \
  {                                                                               \
    .name = #member, .offset = offsetof(owner, member),                           \
    .n = CPLI_COUNT(CPLI_IMAGE_MEMBER(owner, member)), .kind = CPLI_IMAGE_NUMBER, \
    .size = sizeof CPLI_IMAGE_MEMBER(owner, member[0])                            \
  }
#define CPLI_STRUCT(owner, member, of) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_STRUCT, .type = of }
/// An array of structs inside of the struct.
#define CPLI_STRUCTS(owner, member, of)                                                      \
  {                                                                                          \
    .name = #member, .offset = offsetof(owner, member),                                      \
    .n = CPLI_COUNT(CPLI_IMAGE_MEMBER(owner, member)), .kind = CPLI_IMAGE_STRUCT, .type = of \
  }
#define CPLI_POINTER(owner, member, of) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_POINTER, .type = of }
#define CPLI_REQUIRED_POINTER(owner, member, of) \
  { CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_POINTER, .type = of, .required = true }
#define CPLI_STRUCT_LIST(owner, member, count, of)                              \
  {                                                                             \
    CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_LIST, .required = true, \
                                     CPLI_IMAGE_COUNT(owner, count), .type = of \
  }
#define CPLI_NUMBER_LIST(owner, member, count)                                          \
  {                                                                                     \
    CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_NUMBERS, .required = true,      \
                                     CPLI_IMAGE_COUNT(owner, count),                    \
                                     .size = sizeof CPLI_IMAGE_MEMBER(owner, member[0]) \
  }
/// Their number is the result of a function of the struct. `needed`: NULL only if it is 0.
#define CPLI_COMPUTED_LIST(owner, member, function, needed)                             \
  {                                                                                     \
    CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_NUMBERS, .required = needed,    \
                                     .count_of = function,                              \
                                     .size = sizeof CPLI_IMAGE_MEMBER(owner, member[0]) \
  }
#define CPLI_TEXT_LIST(owner, member, count)                                     \
  {                                                                              \
    CPLI_IMAGE_FIELD(owner, member), .kind = CPLI_IMAGE_TEXTS, .required = true, \
                                     CPLI_IMAGE_COUNT(owner, count)              \
  }

/// Defines the type `variable` of a struct from the array `fields`. When the assertion fails, the
/// struct has changed: add the new members to its table (or to the comment that says which ones are
/// not stored), then write the new size here. 32-bit platforms have other sizes.
#define CPLI_IMAGE_TYPE(variable, struct_, bytes, fields_)            \
  const cpli_image_type variable = {.name = #struct_,                 \
                                    .size = sizeof(struct_),          \
                                    .fields = fields_,                \
                                    .n_fields = CPLI_COUNT(fields_)}; \
  static_assert(sizeof(void*) != 8 || sizeof(struct_) == (bytes),     \
                #struct_ " has changed: complete its table, see CPLI_IMAGE_TYPE")

//------------------------------------ bytes ------------------------------------

typedef struct cpli_image {
  unsigned char* bytes;
  size_t size;
} cpli_image;

/// Fails when a member violates its table: CPL_ERR_UNSUPPORTED with its name.
/// Owned: out->bytes by the caller, who calls cpli_free().
cpl_status cpli_image_write(cpl_context* ctx, const cpli_image_type* type, const void* object,
                            cpli_image* out);

/// The same for use at another place: of paths only what stands behind the last slash is written.
cpl_status cpli_image_write_portable(cpl_context* ctx, const cpli_image_type* type,
                                     const void* object, cpli_image* out);

/// Whether bytes are an image of any kind and have not been changed since they were written.
bool cpli_image_is_whole(const unsigned char* bytes, size_t size);
/// Fills the members of `object` that its table lists; the others are unchanged. All memory is of
/// the arena, also after a failure, and is at most a constant multiple of the size of the image.
/// Returns: CPL_ERR_INPUT when the bytes are no image of this type and version, or are damaged.
cpl_status cpli_image_read(cpl_context* ctx, cpli_arena* arena, const cpli_image_type* type,
                           const unsigned char* bytes, size_t size, void* object);

/// Writes mark, version, size and hash anew, so that tests can read what they have changed. Does
/// nothing where the bytes have no room for them.
void cpli_image_seal(const cpli_image_type* type, unsigned char* bytes, size_t size);
