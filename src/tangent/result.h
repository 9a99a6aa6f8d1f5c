// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is compiled into a model under the name couplet_model_tangent. The type is written here once
// for both: for the library (model/tangent_type.h), and as text for the model.
#pragma once

// Directions are passed as values: d->x, d->u, d->p, d->w, d->z and d->t are changes of the values
// in v. The last argument gets the changes of the results, which are computed, too.
//   ..._of    the function that it was made of
//   ..._all   for changes of parameters, discrete variables and time, too; NULL: those are not
//             covered
//   memory    they write to v->memory: they are called with a zeroed one of their own
//   why       there are none
#define CPLI_TANGENT_TYPE                                                                       \
  typedef int cpl_model_tangent_fn(const cpl_values* v, const cpl_values* d, double*, double*); \
  typedef struct cpl_model_tangent {                                                            \
    int (*derivatives_of)(const cpl_values* v, double* dx);                                     \
    int (*output_values_of)(const cpl_values* v, double* y);                                    \
    int (*residuals_of)(const cpl_values* v, double* g);                                        \
    int (*constraints_of)(const cpl_values* v, double* c);                                      \
    cpl_model_tangent_fn *derivatives, *derivatives_all;                                        \
    cpl_model_tangent_fn *output_values, *output_values_all;                                    \
    cpl_model_tangent_fn *residuals, *residuals_all;                                            \
    cpl_model_tangent_fn *constraints, *constraints_all;                                        \
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
