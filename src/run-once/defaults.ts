/** The kubelet's, of the days when it could run pods once. */
export const RUN_ONCE_DEFAULTS = { maxRetries: 10, retryDelayMs: 1_000 } as const;
