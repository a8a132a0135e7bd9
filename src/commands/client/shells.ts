export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden command by which shells ask what may be typed next. */
export const COMPLETE = '__complete';
