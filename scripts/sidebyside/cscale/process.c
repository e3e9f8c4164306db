/* What a process says of itself, and how it ends. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scale.h"

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static long line_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256];
	long value = -1;

	if (file == NULL)
		stop("%s cannot be read", path);
	while (value < 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			value = atol(line + strlen(name) + 1);
	fclose(file);
	return value;
}

/* Of this /proc/self/status would have an estimate only. */
long resident(void)
{
	return line_of("/proc/self/smaps_rollup", "Rss");
}

long threads(void)
{
	return line_of("/proc/self/status", "Threads");
}

long descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = -3; /* ".", ".." and the folder itself */

	if (dir == NULL)
		stop("/proc/self/fd cannot be read");
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}
