// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The system's part of the host on Windows. Files of Linux are below Z:, also those of the parent's
// open files (Z:\proc\PID\fd\N).
#include <float.h>
#include <stdio.h>
#include <windows.h>

#include "fmi/foreign/host.h"

static HANDLE waker;

// Fills in backslashes and the drive.
static void to_windows(const char* path, char* out, size_t size) {
  snprintf(out, size, "Z:%s", path);
  for (char* p = out; *p != '\0'; p++)
    if (*p == '/') *p = '\\';
}

bool host_open(const char* memory, const char* waker_name) {
  char path[256];
  const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
#if defined(__i386__)
  _controlfp(_PC_53, _MCW_PC);  // as in programs that Microsoft's compiler makes
#endif
  to_windows(memory, path, sizeof path);
  HANDLE file =
      CreateFileA(path, GENERIC_READ | GENERIC_WRITE, shared, NULL, OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return false;
  HANDLE mapping = CreateFileMappingA(file, NULL, PAGE_READWRITE, 0, 0, NULL);
  if (mapping == NULL) return false;
  the_host.shared = MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, 0);
  to_windows(waker_name, path, sizeof path);
  waker = CreateFileA(path, GENERIC_WRITE, shared, NULL, OPEN_EXISTING, 0, NULL);
  return the_host.shared != NULL && waker != INVALID_HANDLE_VALUE;
}

void host_sleep(void) {
  char bytes[16];
  DWORD n = 0;
  if (!ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &n, NULL) || n == 0)
    host_end(0);
}

void host_wake_parent(void) {
  DWORD n;
  WriteFile(waker, "", 1, &n, NULL);
}

double host_now(void) {
  static LARGE_INTEGER frequency;
  LARGE_INTEGER now;
  if (frequency.QuadPart == 0) QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&now);
  return (double)now.QuadPart / (double)frequency.QuadPart;
}

void host_pause(void) { Sleep(0); }

//------------------------------------ crashes ------------------------------------

static LONG WINAPI on_exception(EXCEPTION_POINTERS* info) {
  char path[MAX_PATH] = "";
  const char* name = path;
  HMODULE module = NULL;
  const void* address = info->ExceptionRecord->ExceptionAddress;
  if (GetModuleHandleExA(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          address, &module))
    GetModuleFileNameA(module, path, sizeof path);
  for (const char* p = path; *p != '\0'; p++)
    if (*p == '\\') name = p + 1;
  host_crashed(info->ExceptionRecord->ExceptionCode,
               (uint64_t)((uintptr_t)address - (uintptr_t)module), name);
  TerminateProcess(GetCurrentProcess(), 3);
  return EXCEPTION_EXECUTE_HANDLER;
}

// The C library of a DLL installs a filter of its own.
void host_watch_crashes(void) { SetUnhandledExceptionFilter(on_exception); }

void host_end(int code) { TerminateProcess(GetCurrentProcess(), (UINT)code), abort(); }

//------------------------------------ libraries ------------------------------------

static bool to_wide(const char* text, wchar_t* out, int size) {
  return text != NULL && MultiByteToWideChar(CP_UTF8, 0, text, -1, out, size) > 0;
}

// What every program on Windows finds in its environment; a folder of Wine that nobody has set up
// lacks it, and some FMUs crash without.
static void set_environment(const wchar_t* temp) {
  static const wchar_t home[] = L"C:\\users\\couplet", windows[] = L"C:\\windows";
  const struct {
    const wchar_t *name, *value;
  } all[] = {{L"TEMP", temp},
             {L"TMP", temp},
             {L"PATH", L"C:\\windows\\system32;C:\\windows"},
             {L"PATHEXT", L".COM;.EXE;.BAT;.CMD"},
             {L"ComSpec", L"C:\\windows\\system32\\cmd.exe"},
             {L"OS", L"Windows_NT"},
             {L"SystemDrive", L"C:"},
             {L"SystemRoot", windows},
             {L"windir", windows},
             {L"ProgramFiles", L"C:\\Program Files"},
             {L"ProgramData", home},
             {L"ALLUSERSPROFILE", home},
             {L"PUBLIC", home},
             {L"USERPROFILE", home},
             {L"APPDATA", home},
             {L"LOCALAPPDATA", home},
             {L"HOMEDRIVE", L"C:"},
             {L"HOMEPATH", L"\\users\\couplet"},
             {L"USERNAME", L"couplet"},
             {L"COMPUTERNAME", L"COUPLET"}};
  static wchar_t text[33000];
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    wcscpy(text, all[i].name);
    wcscat(text, L"=");
    wcscat(text, all[i].value);
    _wputenv(text);  // also for those that have the C library of this program
  }
}

static void describe(DWORD error, char* text, size_t size) {
  snprintf(text, size, "%s (error %lu of Windows)",
           error == ERROR_MOD_NOT_FOUND     ? "a library that it needs is not found"
           : error == ERROR_PROC_NOT_FOUND  ? "a function that it needs is in none of the libraries"
           : error == ERROR_BAD_EXE_FORMAT  ? "it is no DLL for this platform"
           : error == ERROR_DLL_INIT_FAILED ? "its start-up code failed"
           : error == ERROR_FILE_NOT_FOUND  ? "it is not found"
                                            : "LoadLibrary() failed",
           (unsigned long)error);
}

void* host_load(const char* path, const char* temp, char* text, size_t size) {
  static wchar_t wide[32768], folder[32768];
  if (to_wide(temp, folder, 32768)) set_environment(folder);
  if (!to_wide(path, wide, 32768)) {
    snprintf(text, size, "its path is not valid UTF-8");
    return NULL;
  }
  // for what it loads later by name
  wcscpy(folder, wide);
  wchar_t* slash = wcsrchr(folder, L'\\');
  if (slash != NULL) *slash = L'\0';
  SetDllDirectoryW(folder);
  void* library = LoadLibraryExW(wide, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (library == NULL) describe(GetLastError(), text, size);
  return library;
}

void host_unload(void* library) { FreeLibrary(library); }

void* host_find(void* library, const char* name) {
  FARPROC address = GetProcAddress(library, name);
  void* out;
  memcpy(&out, &address, sizeof out);
  return out;
}
