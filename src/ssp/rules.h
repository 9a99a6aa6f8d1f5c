// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The forms that values of attributes have in the schemas.
#pragma once

#include "base/base.h"

typedef enum cpli_ssp_form {
  CPLI_FORM_TEXT,
  CPLI_FORM_NAME,  // a text that is not empty
  CPLI_FORM_REAL,
  CPLI_FORM_INT8,
  CPLI_FORM_UINT8,
  CPLI_FORM_INT16,
  CPLI_FORM_UINT16,
  CPLI_FORM_INT32,
  CPLI_FORM_UINT32,
  CPLI_FORM_INT64,
  CPLI_FORM_UINT64,
  CPLI_FORM_INTEGER,  // any of the former
  CPLI_FORM_SIZE,     // not negative
  CPLI_FORM_BOOLEAN,
  CPLI_FORM_HEX,
  CPLI_FORM_CHOICE,
  CPLI_FORM_VERSION,
} cpli_ssp_form;

enum { CPLI_FORM_LIST = 64 };  // with the flags of an attribute: values separated by blanks

/// Does a value have this form? Where not, `why` says what is expected.
/// Nullable: choices ("a|b|c")
bool cpli_ssp_has_form(cpli_ssp_form form, bool is_list, const char* choices, const char* value,
                       char* why, size_t size);
