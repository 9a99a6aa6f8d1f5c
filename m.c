#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_declaration parameters[] = {{"b", .start = 1}, {"d"}, {0}};
static int f(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] + v->u[0];
  return 0;
}
static int y(const cpl_values* v, double* y) {
  y[0] = v->x[0] + v->p[1] * v->u[0];
  return 0;
}
const cpl_model_def couplet_model = {.name = "m",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = f,
                                     .output_values = y};
