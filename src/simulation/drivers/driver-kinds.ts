/** What simulated nodes may have drivers for. A simulation without them is the same as before there were any. */
export const DRIVER_KINDS = ['csi', 'dra'] as const;

export type DriverKind = (typeof DRIVER_KINDS)[number];
