#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// Hidden, so that the library, which has functions of the same names, calls its own.
#pragma GCC visibility push(hidden)
#include "libpq.h"
#pragma GCC visibility pop

#define EACH(X) \
  X(PQconnectStartParams) \
  X(PQreset) \
  X(PQpingParams) \
  X(PQconnectionNeedsPassword) \
  X(PQconndefaults) \
  X(PQconninfoFree) \
  X(PQfinish) \
  X(PQstatus) \
  X(PQerrorMessage) \
  X(PQsocket) \
  X(PQsetNoticeProcessor) \
  X(PQsetnonblocking) \
  X(PQenterPipelineMode) \
  X(PQexitPipelineMode) \
  X(PQpipelineSync) \
  X(PQsendQuery) \
  X(PQsendQueryParams) \
  X(PQsendPrepare) \
  X(PQsendQueryPrepared) \
  X(PQputCopyData) \
  X(PQputCopyEnd) \
  X(PQflush) \
  X(PQconsumeInput) \
  X(PQisBusy) \
  X(PQgetResult) \
  X(PQnotifies) \
  X(PQfreemem) \
  X(PQclear) \
  X(PQresultStatus) \
  X(PQresultErrorMessage) \
  X(PQresultErrorField) \
  X(PQcmdTuples) \
  X(PQntuples) \
  X(PQgetvalue) \
  X(PQgetlength) \
  X(PQgetisnull)

// Set by `load` alone, which runs once.
static struct {
#define MEMBER(name) __typeof__(&name) name;
  EACH(MEMBER)
} libpq;
static char failure[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The names to try, in order.
static const char *const names[] = {
#ifdef __APPLE__
    "libpq.5.dylib",
    // Homebrew does not link it into the folders that are searched.
    "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib",
#else
    "libpq.so.5",
#endif
};

static void load(void) {
  void *library = NULL;
  for (size_t at = 0; !library && at < sizeof names / sizeof *names; at++)
    library = dlopen(names[at], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(failure, sizeof failure, "libpq, the client library of PostgreSQL, cannot be loaded: %s",
             reason ? reason : "no reason is told");
    return;
  }
#define FIND(name) \
  libpq.name = (__typeof__(libpq.name))dlsym(library, #name); \
  if (!libpq.name) snprintf(failure, sizeof failure, "libpq has no %s: version 14 is the oldest that will do", #name);
  EACH(FIND)
}

const char *strata_libpq_failure(void) {
  pthread_once(&once, load);
  return failure[0] ? failure : NULL;
}

// MARK: What is forwarded

PGconn *PQconnectStartParams(const char *const *names, const char *const *values, int expand) {
  if (strata_libpq_failure()) return NULL;
  return libpq.PQconnectStartParams(names, values, expand);
}
PQconninfoOption *PQconndefaults(void) {
  if (strata_libpq_failure()) return NULL;
  return libpq.PQconndefaults();
}
PGPing PQpingParams(const char *const *names, const char *const *values, int expand) {
  if (strata_libpq_failure()) return PQPING_NO_ATTEMPT;
  return libpq.PQpingParams(names, values, expand);
}
void PQreset(PGconn *conn) { libpq.PQreset(conn); }
int PQconnectionNeedsPassword(const PGconn *conn) { return libpq.PQconnectionNeedsPassword(conn); }
void PQconninfoFree(PQconninfoOption *options) { libpq.PQconninfoFree(options); }
void PQfinish(PGconn *conn) { libpq.PQfinish(conn); }
ConnStatusType PQstatus(const PGconn *conn) { return libpq.PQstatus(conn); }
char *PQerrorMessage(const PGconn *conn) { return libpq.PQerrorMessage(conn); }
int PQsocket(const PGconn *conn) { return libpq.PQsocket(conn); }
PQnoticeProcessor PQsetNoticeProcessor(PGconn *conn, PQnoticeProcessor processor, void *argument) { return libpq.PQsetNoticeProcessor(conn, processor, argument); }
int PQsetnonblocking(PGconn *conn, int on) { return libpq.PQsetnonblocking(conn, on); }
int PQenterPipelineMode(PGconn *conn) { return libpq.PQenterPipelineMode(conn); }
int PQexitPipelineMode(PGconn *conn) { return libpq.PQexitPipelineMode(conn); }
int PQpipelineSync(PGconn *conn) { return libpq.PQpipelineSync(conn); }
int PQsendQuery(PGconn *conn, const char *query) { return libpq.PQsendQuery(conn, query); }
int PQsendQueryParams(PGconn *conn, const char *command, int count, const Oid *types, const char *const *values, const int *lengths, const int *formats, int format) { return libpq.PQsendQueryParams(conn, command, count, types, values, lengths, formats, format); }
int PQsendPrepare(PGconn *conn, const char *name, const char *query, int count, const Oid *types) { return libpq.PQsendPrepare(conn, name, query, count, types); }
int PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values, const int *lengths, const int *formats, int format) { return libpq.PQsendQueryPrepared(conn, name, count, values, lengths, formats, format); }
int PQputCopyData(PGconn *conn, const char *bytes, int count) { return libpq.PQputCopyData(conn, bytes, count); }
int PQputCopyEnd(PGconn *conn, const char *failure) { return libpq.PQputCopyEnd(conn, failure); }
int PQflush(PGconn *conn) { return libpq.PQflush(conn); }
int PQconsumeInput(PGconn *conn) { return libpq.PQconsumeInput(conn); }
int PQisBusy(PGconn *conn) { return libpq.PQisBusy(conn); }
PGresult *PQgetResult(PGconn *conn) { return libpq.PQgetResult(conn); }
PGnotify *PQnotifies(PGconn *conn) { return libpq.PQnotifies(conn); }
void PQfreemem(void *bytes) { libpq.PQfreemem(bytes); }
void PQclear(PGresult *result) { libpq.PQclear(result); }
ExecStatusType PQresultStatus(const PGresult *result) { return libpq.PQresultStatus(result); }
char *PQresultErrorMessage(const PGresult *result) { return libpq.PQresultErrorMessage(result); }
char *PQresultErrorField(const PGresult *result, int field) { return libpq.PQresultErrorField(result, field); }
char *PQcmdTuples(PGresult *result) { return libpq.PQcmdTuples(result); }
int PQntuples(const PGresult *result) { return libpq.PQntuples(result); }
char *PQgetvalue(const PGresult *result, int row, int column) { return libpq.PQgetvalue(result, row, column); }
int PQgetlength(const PGresult *result, int row, int column) { return libpq.PQgetlength(result, row, column); }
int PQgetisnull(const PGresult *result, int row, int column) { return libpq.PQgetisnull(result, row, column); }
