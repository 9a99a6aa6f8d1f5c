#include <couplet/model.h>
static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"b", .start = 1}, {"limit", .start = 1e9}, {0}};
static const cpl_declaration discrete[] = {{"switch_to", .type = CPL_INTEGER, .output = true}, {0}};
static int f(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] + v->u[0];
  return 0;
}
static int z(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[1];
  return 0;
}
static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->w[0] = 2, a->terminate = v->p[1] < 1e8;
  return 0;
}
const cpl_model_def couplet_model = {.name = "t",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .derivatives = f,
                                     .indicators = z,
                                     .event = event};
