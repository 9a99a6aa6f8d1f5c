// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The types of FMI 1.0 on every platform. Names and types are fixed by the standard.
#ifndef fmiPlatformTypes_h
#define fmiPlatformTypes_h

#define fmiPlatform "standard32"

typedef void* fmiComponent;  // an instance, private to the FMU
typedef unsigned int fmiValueReference;
typedef double fmiReal;
typedef int fmiInteger;
typedef char fmiBoolean;
typedef const char* fmiString;

#define fmiTrue  1
#define fmiFalse 0

#define fmiUndefinedValueReference (fmiValueReference)(-1)

#endif
