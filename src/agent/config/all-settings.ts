import { ALL_ADMISSION_SETTINGS } from './load-admission-settings.ts';
import { ALL_CLUSTER_SETTINGS } from './load-cluster-settings.ts';
import { FEATURE_GATES } from './load-feature-gates.ts';
import { ALL_BUILT_IN_SETTINGS } from './load-built-in-settings.ts';
import { ALL_EVICTION_PLUGIN_SETTINGS } from './load-eviction-plugin-settings.ts';
import { ALL_EVICTION_SETTINGS } from './load-eviction-settings.ts';
import { ALL_NODE_SETTINGS } from './load-node-settings.ts';
import { ALL_SERVER_SETTINGS } from './load-server-settings.ts';
import type { Setting } from './setting.ts';

/** The tables of settings, whose rows have flags and fields. */
export const ALL_SETTINGS: readonly Setting[] = [
  ...ALL_ADMISSION_SETTINGS,
  ...ALL_CLUSTER_SETTINGS,
  ...ALL_EVICTION_SETTINGS,
  ...ALL_EVICTION_PLUGIN_SETTINGS,
  ...ALL_BUILT_IN_SETTINGS,
  ...ALL_NODE_SETTINGS,
  ...ALL_SERVER_SETTINGS,
  FEATURE_GATES as Setting,
];
