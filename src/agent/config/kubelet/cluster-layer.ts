/** What Katalyst's object of a cluster sets of a node's configuration: it comes before flags and files. Loaded only where there is one. */
import type { ClusterEvictionConfig } from '../../policies/eviction-plugins/katalyst-config.ts';
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import { resolveConfig, type StateletConfig } from '../config.ts';
import { API_VERSION, KIND } from '../kubelet-configuration.ts';
import { checkedPatch } from '../load-configuration.ts';
import { CLUSTER_ROWS } from '../load-eviction-plugin-settings.ts';
import { thisHost } from '../root-folder.ts';
import { flagKey, memberOf } from '../setting.ts';
import { mergePatch } from './drop-ins.ts';

export interface ClusterLayer {
  readonly evictionPlugins: EvictionPluginSettings;
  /** What the object sets, by the names of the fields. */
  readonly fields: ReadonlySet<string>;
}

/** Of the object, only settings of plugins count. Throws `InvalidArgument`; the message names the object and the field. */
export function clusterLayer(
  { flags, file }: StateletConfig['given'],
  { evictionConfig, origin }: ClusterEvictionConfig,
): ClusterLayer {
  const object = { evictionPlugins: evictionConfig };
  const set = CLUSTER_ROWS.filter(({ field = '' }) => isSaid(memberOf(object, field)));
  const patch = set.reduce<object>(
    (all, { field = '' }) => mergePatch(all, nested(field.split('.'), memberOf(object, field))),
    { apiVersion: API_VERSION, kind: KIND },
  );
  const configuration = mergePatch(file, checkedPatch(origin, patch).patch);
  const replaced = new Set(set.map(({ flag = '' }) => flagKey(flag)));
  const others = Object.fromEntries(Object.entries(flags).filter(([name]) => !replaced.has(name)));
  const { evictionPlugins } = resolveConfig(others, configuration, thisHost(), origin);
  return { evictionPlugins, fields: new Set(set.map(({ field = '' }) => field)) };
}

/** As with Katalyst, an empty list sets nothing. */
function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function nested([name = '', ...inner]: readonly string[], value: unknown): object {
  return { [name]: inner.length === 0 ? value : nested(inner, value) };
}
