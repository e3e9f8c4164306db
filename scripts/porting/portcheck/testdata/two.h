struct greeting {
	uint32_t magic;
};

struct peer {
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	void *greeting;
	uint32_t copy;
	int status;
	pthread_mutex_t lock;
	volatile int arrived; /* want: polling */
};

#define DAT_OWN_NAME(peer) ((peer)->arrived = 1)
