/* Returns words about a device, in lines, for the caller to free; NULL or none if it cannot be opened. */
char *device_limits(const char *name);
