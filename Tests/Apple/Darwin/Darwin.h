// What the library uses of Apple's C library, with the types and the availability of the published headers (xnu-11417, Libc-1725,
// libpthread-539). Nothing is called: sources are type-checked against it.
#ifndef STRATA_DARWIN_H
#define STRATA_DARWIN_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ssize_t;
typedef long long off_t;
typedef long time_t;
typedef unsigned short mode_t;
typedef unsigned short nlink_t;
typedef int dev_t;
typedef unsigned long long ino_t;
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned int useconds_t;

#define __PROHIBITED __attribute__((availability(watchos, unavailable))) __attribute__((availability(tvos, unavailable)))

// errno.h; `errno` itself is of the Swift overlay.
int *__error(void);
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define ENXIO 6
#define EBADF 9
#define ENOMEM 12
#define EACCES 13
#define EEXIST 17
#define EXDEV 18
#define ENODEV 19
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENOTTY 25
#define EFBIG 27
#define ENOSPC 28
#define ESPIPE 29
#define EROFS 30
#define EPIPE 32
#define EAGAIN 35
#define EWOULDBLOCK EAGAIN
#define ENOTSUP 45
#define ENOTCONN 57
#define ETIMEDOUT 60
#define ELOOP 62
#define EDQUOT 69
#define ENOSYS 78

// fcntl.h; `open` and `fcntl` are of the Swift overlay.
#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_RDWR 0x0002
#define O_NONBLOCK 0x0004
#define O_APPEND 0x0008
#define O_NOFOLLOW 0x0100
#define O_CREAT 0x0200
#define O_TRUNC 0x0400
#define O_EXCL 0x0800
#define O_EVTONLY 0x8000
#define O_DIRECTORY 0x100000
#define O_CLOEXEC 0x1000000
#define F_GETFD 1
#define F_DUPFD_CLOEXEC 67
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETPATH 50
#define F_FULLFSYNC 51
#define F_BARRIERFSYNC 85
#define F_SETNOSIGPIPE 73
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#define FD_CLOEXEC 1
#define F_RDLCK 1
#define F_UNLCK 2
#define F_WRLCK 3
#define AT_FDCWD -2
#define AT_SYMLINK_NOFOLLOW 0x0020
struct flock {
  off_t l_start;
  off_t l_len;
  pid_t l_pid;
  short l_type;
  short l_whence;
};

// sys/stat.h, sys/statvfs.h, time.h
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
struct tm {
  int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
  long tm_gmtoff;
  char *tm_zone;
};
struct stat {
  dev_t st_dev;
  mode_t st_mode;
  nlink_t st_nlink;
  ino_t st_ino;
  uid_t st_uid;
  gid_t st_gid;
  dev_t st_rdev;
  struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
  off_t st_size;
  long long st_blocks;
  int st_blksize;
  unsigned st_flags, st_gen;
  int st_lspare;
  long long st_qspare[2];
};
struct statvfs {
  unsigned long f_bsize, f_frsize;
  unsigned f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail;
  unsigned long f_fsid, f_flag, f_namemax;
};
int stat(const char *, struct stat *);
int fstat(int, struct stat *);
int lstat(const char *, struct stat *);
int fstatat(int, const char *, struct stat *, int);
int statvfs(const char *, struct statvfs *);
int mkdir(const char *, mode_t);
int chmod(const char *, mode_t);
int fchmod(int, mode_t);
typedef enum { CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 6, CLOCK_MONOTONIC_RAW = 4 } clockid_t;
int clock_gettime(clockid_t, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);
time_t mktime(struct tm *);
struct tm *localtime_r(const time_t *restrict, struct tm *restrict);

// sys/mman.h; `MAP_FAILED` is of the Swift overlay.
#define PROT_READ 0x01
#define PROT_WRITE 0x02
#define MAP_SHARED 0x0001
#define MAP_PRIVATE 0x0002
#define MAP_NORESERVE 0x0040
#define MAP_ANON 0x1000
#define MADV_DONTNEED 4
void *mmap(void *, size_t, int, int, int, off_t);
int munmap(void *, size_t);
int madvise(void *, size_t, int);

// stdio.h
typedef struct __sFILE FILE;
FILE *fopen(const char *, const char *);
int fclose(FILE *);
char *fgets(char *, int, FILE *);

// unistd.h
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define SEEK_HOLE 3
#define SEEK_DATA 4
#define F_OK 0
#define R_OK 4
#define W_OK 2
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
int access(const char *, int);
int close(int);
int dup(int);
int fsync(int);
int ftruncate(int, off_t);
pid_t getpid(void);
uid_t geteuid(void);
int isatty(int);
off_t lseek(int, off_t, int);
int pipe(int[2]);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
int rmdir(const char *);
int unlink(const char *);
int link(const char *, const char *);
int gethostname(char *, size_t);
#define _SC_PAGESIZE 29
long sysconf(int);
#define _CS_DARWIN_USER_TEMP_DIR 65537
size_t confstr(int, char *, size_t);
int usleep(useconds_t);
int mkstemp(char *);
char *mkdtemp(char *);

// dirent.h, limits.h, stdio.h, stdlib.h, string.h, math.h
#define MAXPATHLEN 1024
#define PATH_MAX 1024
#define NAME_MAX 255
#define PIPE_BUF 512
struct dirent {
  ino_t d_ino;
  unsigned long long d_seekoff;
  unsigned short d_reclen;
  unsigned short d_namlen;
  unsigned char d_type;
  char d_name[1024];
};
typedef struct DIR DIR;
DIR *opendir(const char *);
DIR *fdopendir(int);
struct dirent *readdir(DIR *);
int closedir(DIR *);
int rename(const char *, const char *);
void *calloc(size_t, size_t);
void free(void *);
char *getenv(const char *);
void *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t);
void *memcpy(void *restrict, const void *restrict, size_t);
void *memset(void *, int, size_t);
void *memmove(void *, const void *, size_t);
size_t strlen(const char *);
char *strdup(const char *);
char *strerror(int);
int strerror_r(int, char *, size_t);
double floor(double);
double ceil(double);
double log(double);
double log2(double);
double log10(double);
double pow(double, double);

// mach-o/dyld.h
int _NSGetExecutablePath(char *, unsigned *);

// sys/clonefile.h
int clonefile(const char *, const char *, unsigned)
  __attribute__((availability(macos, introduced = 10.12))) __attribute__((availability(ios, introduced = 10.0)))
  __attribute__((availability(tvos, introduced = 10.0))) __attribute__((availability(watchos, introduced = 3.0)));

// pthread.h, sched.h
typedef struct _opaque_pthread_t {
  long __sig;
  struct _opaque_handler *__cleanup_stack;
  char __opaque[8176];
} *pthread_t;
typedef struct { long __sig; char __opaque[56]; } pthread_mutex_t;
typedef struct { long __sig; char __opaque[8]; } pthread_mutexattr_t;
typedef struct { long __sig; char __opaque[40]; } pthread_cond_t;
typedef struct { long __sig; char __opaque[8]; } pthread_condattr_t;
typedef struct { long __sig; char __opaque[56]; } pthread_attr_t;
typedef struct { long __sig; char __opaque[8]; } pthread_once_t;
#define PTHREAD_ONCE_INIT {0x30B1BCBA, {0}}
int pthread_once(pthread_once_t *, void (*)(void));
int pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *_Nullable);
int pthread_mutex_destroy(pthread_mutex_t *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
int pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *_Nullable);
int pthread_cond_destroy(pthread_cond_t *);
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int pthread_cond_timedwait_relative_np(pthread_cond_t *, pthread_mutex_t *, const struct timespec *_Nullable);
int pthread_cond_signal(pthread_cond_t *);
int pthread_cond_broadcast(pthread_cond_t *);
int pthread_create(
  pthread_t _Nullable *_Nonnull, const pthread_attr_t *_Nullable, void *_Nullable (*_Nonnull)(void *_Nonnull),
  void *_Nullable);
int pthread_detach(pthread_t _Nonnull);
pthread_t _Nonnull pthread_self(void);
int sched_yield(void);

// poll.h, signal.h, sys/wait.h, spawn.h
#define POLLIN 0x0001
#define POLLOUT 0x0004
#define POLLERR 0x0008
#define POLLHUP 0x0010
struct pollfd {
  int fd;
  short events;
  short revents;
};
int poll(struct pollfd *, unsigned, int);
typedef unsigned int sigset_t;
#define SIG_BLOCK 1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3
#define SIGINT 2
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SIGURG 16
int sigemptyset(sigset_t *);
int sigaddset(sigset_t *, int);
int sigismember(const sigset_t *, int);
int sigpending(sigset_t *);
int sigwait(const sigset_t *restrict, int *restrict);
int pthread_sigmask(int, const sigset_t *_Nullable, sigset_t *_Nullable);
int kill(pid_t, int);
#define WNOHANG 1
pid_t waitpid(pid_t, int *, int);
#define POSIX_SPAWN_SETSID 0x0400
typedef void *posix_spawnattr_t;
typedef void *posix_spawn_file_actions_t;
int posix_spawnp(
  pid_t *_Nullable, const char *_Nonnull, const posix_spawn_file_actions_t _Nullable *_Nullable,
  const posix_spawnattr_t _Nullable *_Nullable, char *_Nullable const *_Nonnull, char *_Nullable const *_Nullable)
  __PROHIBITED;
int posix_spawnattr_init(posix_spawnattr_t _Nullable *_Nonnull) __PROHIBITED;
int posix_spawnattr_destroy(posix_spawnattr_t _Nullable *_Nonnull) __PROHIBITED;
int posix_spawnattr_setflags(posix_spawnattr_t _Nullable *_Nonnull, short) __PROHIBITED;
int posix_spawn_file_actions_init(posix_spawn_file_actions_t _Nullable *_Nonnull) __PROHIBITED;
int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t _Nullable *_Nonnull) __PROHIBITED;
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t _Nullable *_Nonnull, int, int) __PROHIBITED;

#endif
