/* A disk that takes writes, but cannot say that they are safe while the file
   named by BAD_DISK exists. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bad(void) {
	const char *file = getenv("BAD_DISK");
	return file && access(file, F_OK) == 0;
}

int fsync(int fd) {
	if (bad()) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
	if (bad()) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_fdatasync, fd);
}
