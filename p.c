#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};
static const cpl_declaration parameters[] = {{"b", .start = 1}, {0}};
static int f(const cpl_values* v, double* dx) {
  dx[0] = v->p[0];
  return 0;
}
const cpl_model_def couplet_model = {
    .name = "p", .states = states, .parameters = parameters, .derivatives = f};
