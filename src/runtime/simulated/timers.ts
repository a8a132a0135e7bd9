/** What a timer of Node can hold, and so every clock: what takes longer is never over. */
export const MAX_DELAY_MS = 2 ** 31 - 1;
