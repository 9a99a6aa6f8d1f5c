// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The types of FMI 2.0 on every platform couplet knows. Names and types are fixed by the standard.
#ifndef fmi2TypesPlatform_h
#define fmi2TypesPlatform_h

#include <stddef.h>

#define fmi2TypesPlatform "default"

typedef void* fmi2Component;             // an instance, private to the FMU
typedef void* fmi2ComponentEnvironment;  // private to the importer
typedef void* fmi2FMUstate;              // a saved state, private to the FMU
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char* fmi2String;
typedef char fmi2Byte;

#define fmi2True  1
#define fmi2False 0

#endif
