// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is compiled into a model under the name couplet_model_tangent. The type is written here once
// for both: for the library (model/tangent_type.h), and as text for the model.
#pragma once

// Directions are passed as values: d->x, d->u, d->p, d->w, d->z and d->t are changes of the values
// in v. d_dx and d_y are the changes of dx and y, which are computed, too.
//   ..._of    the function that it was made of
//   ..._all   for changes of parameters, discrete variables and time, too; NULL: those are not
//   covered memory    they write to v->memory: they are called with a zeroed one of their own why
//   there are none
#define CPLI_TANGENT_TYPE                                                                       \
  typedef struct cpl_model_tangent {                                                            \
    int (*derivatives_of)(const cpl_values* v, double* dx);                                     \
    int (*output_values_of)(const cpl_values* v, double* y);                                    \
    int (*derivatives)(const cpl_values* v, const cpl_values* d, double* dx, double* d_dx);     \
    int (*output_values)(const cpl_values* v, const cpl_values* d, double* y, double* d_y);     \
    int (*derivatives_all)(const cpl_values* v, const cpl_values* d, double* dx, double* d_dx); \
    int (*output_values_all)(const cpl_values* v, const cpl_values* d, double* y, double* d_y); \
    int memory;                                                                                 \
    const char* why;                                                                            \
  } cpl_model_tangent

#define CPLI_TEXT_OF(...) #__VA_ARGS__
#define CPLI_AS_TEXT(...) CPLI_TEXT_OF(__VA_ARGS__)
#define CPLI_TANGENT_BEGIN \
  "\n" CPLI_AS_TEXT(CPLI_TANGENT_TYPE) ";\nextern CPL_TANGENT_EXPORT const cpl_model_tangent " \
                                       "couplet_model_tangent;\n"

/// In the text: a model is compiled with hidden names.
#define CPLI_TANGENT_VISIBLE "__attribute__((visibility(\"default\")))"
