import { ACTOR_MUTANTS } from './actor-mutants.ts';
import { CLUSTER_MUTANTS } from './cluster-mutants.ts';
import { CONTENT_MUTANTS } from './content-mutants.ts';
import { DEVICE_MUTANTS } from './device-mutants.ts';
import { DRIVER_MUTANTS } from './driver-mutants.ts';
import { EVICTION_MUTANTS } from './eviction-mutants.ts';
import { LOCAL_MUTANTS } from './local-mutants.ts';
import { MACHINE_MUTANTS } from './machine-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PLACEMENT_MUTANTS } from './placement-mutants.ts';
import { PLUGIN_MUTANTS } from './plugin-mutants.ts';
import { ROOM_MUTANTS } from './room-mutants.ts';
import { SHORTAGE_MUTANTS } from './shortage-mutants.ts';

export const MUTANTS: readonly Mutant[] = [
  ...MACHINE_MUTANTS,
  ...ACTOR_MUTANTS,
  ...ROOM_MUTANTS,
  ...EVICTION_MUTANTS,
  ...SHORTAGE_MUTANTS,
  ...CLUSTER_MUTANTS,
  ...CONTENT_MUTANTS,
  ...LOCAL_MUTANTS,
  ...PLUGIN_MUTANTS,
  ...DEVICE_MUTANTS,
  ...DRIVER_MUTANTS,
  ...PLACEMENT_MUTANTS,
];
