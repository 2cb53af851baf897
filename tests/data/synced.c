/*
 * Preloaded into a process, it writes down how much of each file was forced to the medium: one struct synced for
 * each successful fsync or fdatasync, appended to the file that NEARSTONE_TEST_SYNCED names. sync_file_range is
 * not looked at, since it promises nothing for the time after a power cut.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The inode of a deleted file is soon that of a new one; the time of its birth tells them apart. */
struct synced {
    uint64_t inode;
    uint64_t born_seconds;
    uint64_t born_nanoseconds;
    uint64_t size;
};

static int record = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("NEARSTONE_TEST_SYNCED");
    if (path)
        record = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (record < 0)
        abort();
}

static int sync_and_record(long call, int fd) {
    struct statx file;
    /* The size before: what is written meanwhile may be on the medium or not. */
    int is_known = statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE | STATX_BTIME, &file) == 0;
    int result = (int)syscall(call, fd);
    if (result == 0 && is_known) {
        struct synced synced = {file.stx_ino, 0, 0, file.stx_size};
        if (file.stx_mask & STATX_BTIME) {
            synced.born_seconds = (uint64_t)file.stx_btime.tv_sec;
            synced.born_nanoseconds = file.stx_btime.tv_nsec;
        }
        if (write(record, &synced, sizeof synced) != sizeof synced)
            abort();
    }
    return result;
}

int fsync(int fd) { return sync_and_record(SYS_fsync, fd); }

int fdatasync(int fd) { return sync_and_record(SYS_fdatasync, fd); }
