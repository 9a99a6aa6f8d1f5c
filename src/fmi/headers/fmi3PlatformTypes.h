// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The types of FMI 3.0 on every platform. Names and types are fixed by the standard.
#ifndef fmi3PlatformTypes_h
#define fmi3PlatformTypes_h

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void* fmi3Instance;             // private to the FMU
typedef void* fmi3InstanceEnvironment;  // private to the importer
typedef void* fmi3FMUState;             // a saved state, private to the FMU
typedef uint32_t fmi3ValueReference;

typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char* fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte* fmi3Binary;  // its length is told beside it
typedef bool fmi3Clock;

#define fmi3True  true
#define fmi3False false

#define fmi3ClockActive   true
#define fmi3ClockInactive false

#endif
