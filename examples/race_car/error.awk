# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f error.awk REFERENCE.csv RESULT.csv: the distance between two cars at the points in time that
# both files have, as CSV. Columns are found by their names: x and y, or chassis.x and chassis.y.
BEGIN {
  FS = ","
  print "time,position error [m]"
}
FNR == 1 {
  file++
  for (i = 1; i <= NF; i++) {
    name = $i
    sub(/ \[.*/, "", name)
    sub(/^chassis\./, "", name)
    if (name == "x") x = i
    if (name == "y") y = i
  }
  next
}
file == 1 {
  rx[$1] = $x
  ry[$1] = $y
  next
}
($1 in rx) && !($1 in done) {
  done[$1] = 1
  printf "%s,%.6g\n", $1, sqrt(($x - rx[$1]) ^ 2 + ($y - ry[$1]) ^ 2)
}
