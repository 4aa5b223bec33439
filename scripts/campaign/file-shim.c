/*
 * Preloaded into a server under test (LD_PRELOAD, Linux with 64 bits; file-shim.ts compiles it). It does three things:
 *
 * - SHIM_LOG: writes down every change below the directory SHIM_ROOT, and every flush, in order: a `struct record` with its
 *   text or data behind it, appended before the call returns. What a client is told after that is behind it in the log.
 *   disk.ts rebuilds from it what a power cut may leave.
 * - SHIM_CONTROL: a page that a campaign writes while the server runs, `struct control`: calls of some kinds on files
 *   whose path holds some text (where that ends with `$`, whose path ends so) fail with an error, from one call on, so many times.
 * - The same page moves the wall clock of the process.
 *
 * A change and its record are one step under a lock, so no flush is written down before a write that it did not cover.
 * Memory maps are not seen: of SQLite's files only `-shm` is mapped, which means nothing after a power cut.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kinds of calls: a record has the number, a control page the bit 1 << kind. */
enum kind { OPEN, CLOSE, READ, WRITE, TRUNCATE, FLUSH, RENAME, UNLINK, LINK, MKDIR, SYMLINK };

struct record {
  uint32_t kind, pid;
  int32_t fd, flags;
  int64_t offset;         /* of a write; the size of a truncate */
  uint32_t length, other; /* bytes that follow: data or a path, then another path */
};

struct control {
  int32_t error;          /* errno; 0: nothing fails */
  uint32_t kinds;
  int32_t skip, times;    /* so many calls succeed, then so many fail; -1: all from there on */
  int64_t clock_offset;   /* ms */
  int32_t failed;         /* how many have failed */
  char path[256];
};

#define REAL(name) ({ static __typeof__(&name) f; if (!f) f = (__typeof__(&name))dlsym(RTLD_NEXT, #name); f; })
#define LAST_FD 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int log_fd = -1;
static pid_t own_pid;
static struct control nothing, *control = &nothing;
static char *paths[LAST_FD]; /* of open files that matter */

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("SHIM_LOG"), *page = getenv("SHIM_CONTROL"), *below = getenv("SHIM_ROOT");
  own_pid = getpid();
  if (below) root_length = strlen(strncpy(root, below, PATH_MAX - 1));
  if (page) {
    int fd = REAL(openat)(AT_FDCWD, page, O_RDWR | O_CLOEXEC);
    if (fd < 0 || (control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) abort();
    REAL(close)(fd);
  }
  if (log && *log && (log_fd = REAL(openat)(AT_FDCWD, log, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0) abort();
}

static int is_below_root(const char *path) {
  return root_length > 0 && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static int is_meant(const char *path) {
  size_t length = strlen(path), text = strnlen(control->path, sizeof control->path);
  if (text == 0 || control->path[text - 1] != '$') return text > 0 && strstr(path, control->path);
  return length >= text - 1 && strncmp(path + length - (text - 1), control->path, text - 1) == 0;
}

static int matters(const char *path) { return is_below_root(path) || is_meant(path); }

/* The path of an open file that matters, else NULL; also in a child between fork and exec, where the lock may be held. */
static const char *path_of(int fd) { return fd >= 0 && fd < LAST_FD && paths[fd] && getpid() == own_pid ? paths[fd] : NULL; }

static const char *absolute(int at, const char *path, char *out) {
  char base[PATH_MAX] = "", link[64];
  while (path[0] == '.' && path[1] == '/') path += 2;
  if (path[0] != '/' && at == AT_FDCWD && getcwd(base, sizeof base - 1)) strcat(base, "/");
  if (path[0] != '/' && at != AT_FDCWD) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    if (readlink(link, base, sizeof base - 2) > 0) strcat(base, "/");
  }
  snprintf(out, PATH_MAX, "%s%s", base, strcmp(path, ".") == 0 ? "" : path);
  for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; ) out[--n] = 0;
  return out;
}

/* Begins a call on a file that matters: true with the lock held, or false where the call has to fail, with errno set. */
static int enter(enum kind kind, const char *path) {
  pthread_mutex_lock(&lock);
  if (!control->error || !(control->kinds & 1u << kind) || !is_meant(path) || control->times == 0) return 1;
  if (control->skip > 0) return control->skip--, 1;
  if (control->times > 0) control->times--;
  control->failed++;
  pthread_mutex_unlock(&lock);
  errno = control->error;
  return 0;
}

/* Ends it. */
static void leave(void) { pthread_mutex_unlock(&lock); }

/* Appends a record and what belongs to it. A log with a hole would prove nothing, so there is none. */
static void note(struct record record, const char *path, const struct iovec *data, int count, const char *other) {
  if (log_fd < 0 || !is_below_root(path)) return;
  struct iovec parts[count + 2];
  size_t total = sizeof record, rest = record.length;
  int used = 1, error = errno;
  for (int i = 0; i < count && rest > 0; i++) {
    size_t length = data[i].iov_len < rest ? data[i].iov_len : rest;
    parts[used++] = (struct iovec){data[i].iov_base, length};
    rest -= length;
  }
  record.pid = own_pid;
  record.other = other ? strlen(other) : 0;
  if (other) parts[used++] = (struct iovec){(void *)other, record.other};
  parts[0] = (struct iovec){&record, sizeof record};
  total += record.length + record.other;
  if (REAL(writev)(log_fd, parts, used) != (ssize_t)total) abort();
  errno = error;
}

static void note_path(enum kind kind, int fd, int flags, const char *path, const char *other) {
  struct iovec text = {(void *)path, strlen(path)};
  note((struct record){.kind = kind, .fd = fd, .flags = flags, .length = text.iov_len}, path, &text, 1, other);
}

static int open_file(int at, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  if (!matters(absolute(at, name, path))) return REAL(openat)(at, name, flags, mode);
  if (!enter(OPEN, path)) return -1;
  int fd = REAL(openat)(at, name, flags, mode);
  if (fd >= 0 && fd < LAST_FD) {
    free(paths[fd]);
    paths[fd] = strdup(path);
    note_path(OPEN, fd, flags, path, NULL);
  }
  leave();
  return fd;
}

static mode_t mode_from(int flags, va_list more) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0; }
#define OPENS(at) va_list more; va_start(more, flags); mode_t mode = mode_from(flags, more); va_end(more); return open_file(at, path, flags, mode);
int open(const char *path, int flags, ...) { OPENS(AT_FDCWD) }
int open64(const char *path, int flags, ...) { OPENS(AT_FDCWD) }
int openat(int at, const char *path, int flags, ...) { OPENS(at) }
int openat64(int at, const char *path, int flags, ...) { OPENS(at) }

/* Before its number means another file. */
static void forget(int fd) {
  if (!path_of(fd)) return;
  pthread_mutex_lock(&lock);
  note((struct record){.kind = CLOSE, .fd = fd}, paths[fd], NULL, 0, NULL);
  free(paths[fd]);
  paths[fd] = NULL;
  leave();
}
int close(int fd) { forget(fd); return REAL(close)(fd); }
int closedir(DIR *directory) { forget(dirfd(directory)); return REAL(closedir)(directory); }

/* Every way to write; at: -1 where the file has its own place. */
static ssize_t write_file(int fd, const struct iovec *data, int count, off_t at) {
  const char *path = path_of(fd);
  if (path && !enter(WRITE, path)) return -1;
  ssize_t done = at < 0 ? REAL(writev)(fd, data, count) : REAL(pwritev)(fd, data, count, at);
  if (!path) return done;
  off_t from = at < 0 ? lseek(fd, 0, SEEK_CUR) - done : at;
  if (done > 0) note((struct record){.kind = WRITE, .fd = fd, .offset = from, .length = done}, path, data, count, NULL);
  leave();
  return done;
}
static ssize_t write_bytes(int fd, const void *bytes, size_t size, off_t at) {
  struct iovec data = {(void *)bytes, size};
  return write_file(fd, &data, 1, at);
}
ssize_t write(int fd, const void *bytes, size_t size) { return write_bytes(fd, bytes, size, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return write_bytes(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) { return write_bytes(fd, bytes, size, at); }
ssize_t writev(int fd, const struct iovec *data, int count) { return write_file(fd, data, count, -1); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t at) { return write_file(fd, data, count, at); }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off_t at) { return write_file(fd, data, count, at); }

/* Copies inside the kernel go through memory here, so that their bytes are seen. */
static ssize_t copy(int from, off_t *from_at, int to, off_t *to_at, size_t size) {
  char bytes[65536];
  size_t part = size < sizeof bytes ? size : sizeof bytes;
  ssize_t done = from_at ? pread(from, bytes, part, *from_at) : read(from, bytes, part);
  if (done > 0) done = write_bytes(to, bytes, done, to_at ? *to_at : -1);
  if (done > 0 && from_at) *from_at += done;
  if (done > 0 && to_at) *to_at += done;
  return done;
}
ssize_t copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t size, unsigned flags) {
  return path_of(to) ? copy(from, from_at, to, to_at, size) : REAL(copy_file_range)(from, from_at, to, to_at, size, flags);
}
/* Node calls some by their number. */
long syscall(long number, ...) {
  long a[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
  va_end(more);
  if (number == SYS_close) return close(a[0]);
  if (number == SYS_copy_file_range && path_of(a[2])) return copy(a[0], (off_t *)a[1], a[2], (off_t *)a[3], a[4]);
  return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) { return path_of(to) ? copy(from, at, to, NULL, size) : REAL(sendfile)(to, from, at, size); }
ssize_t sendfile64(int to, int from, off_t *at, size_t size) { return sendfile(to, from, at, size); }

static ssize_t read_file(int fd, void *bytes, size_t size, off_t at) {
  const char *path = path_of(fd);
  if (path && !enter(READ, path)) return -1;
  if (path) leave();
  return at < 0 ? REAL(read)(fd, bytes, size) : REAL(pread)(fd, bytes, size, at);
}
ssize_t read(int fd, void *bytes, size_t size) { return read_file(fd, bytes, size, -1); }
ssize_t pread(int fd, void *bytes, size_t size, off_t at) { return read_file(fd, bytes, size, at); }
ssize_t pread64(int fd, void *bytes, size_t size, off_t at) { return read_file(fd, bytes, size, at); }

static int flush_file(int fd) {
  const char *path = path_of(fd);
  if (path && !enter(FLUSH, path)) return -1;
  int done = REAL(fsync)(fd);
  if (!path) return done;
  if (done == 0) note((struct record){.kind = FLUSH, .fd = fd}, path, NULL, 0, NULL);
  leave();
  return done;
}
int fsync(int fd) { return flush_file(fd); }
int fdatasync(int fd) { return flush_file(fd); }

int ftruncate(int fd, off_t size) {
  const char *path = path_of(fd);
  if (path && !enter(TRUNCATE, path)) return -1;
  int done = REAL(ftruncate)(fd, size);
  if (!path) return done;
  if (done == 0) note((struct record){.kind = TRUNCATE, .fd = fd, .offset = size}, path, NULL, 0, NULL);
  leave();
  return done;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

/* A change of directories: `path` is what changes, `other` what it becomes or is made of. */
#define ON_PATH(kind, at, name, other, real) \
  char path[PATH_MAX]; \
  if (!matters(absolute(at, name, path))) return real; \
  if (!enter(kind, path)) return -1; \
  int done = real; \
  if (done == 0) note_path(kind, 0, 0, path, other); \
  leave(); \
  return done
int renameat(int at, const char *from, int to_at, const char *to) {
  char other[PATH_MAX];
  absolute(to_at, to, other);
  ON_PATH(RENAME, at, from, other, REAL(renameat)(at, from, to_at, to));
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int unlinkat(int at, const char *name, int flags) { ON_PATH(UNLINK, at, name, NULL, REAL(unlinkat)(at, name, flags)); }
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) { return unlink(name) == 0 ? 0 : errno == EISDIR ? rmdir(name) : -1; }
int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  char other[PATH_MAX];
  absolute(at, from, other);
  ON_PATH(LINK, to_at, to, other, REAL(linkat)(at, from, to_at, to, flags));
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlink(const char *target, const char *name) { ON_PATH(SYMLINK, AT_FDCWD, name, target, REAL(symlink)(target, name)); }
int mkdir(const char *name, mode_t mode) { ON_PATH(MKDIR, AT_FDCWD, name, NULL, REAL(mkdir)(name, mode)); }
char *mkdtemp(char *name) {
  char path[PATH_MAX], *made = REAL(mkdtemp)(name);
  if (made) note_path(MKDIR, 0, 0, absolute(AT_FDCWD, made, path), NULL);
  return made;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int done = REAL(clock_gettime)(clock, now);
  if (done || !control->clock_offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return done;
  int64_t ns = (now->tv_sec * 1000 + control->clock_offset) * 1000000 + now->tv_nsec;
  *now = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
  return 0;
}
time_t time(time_t *now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  return now ? *now = exact.tv_sec : exact.tv_sec;
}
