/** The kinds of drivers that simulated nodes may have. Without them a seed gives the same simulation as before these kinds existed. */
export const DRIVER_KINDS = ['csi', 'dra'] as const;

export type DriverKind = (typeof DRIVER_KINDS)[number];
