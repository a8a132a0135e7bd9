/** The devices among the resources of the node. */
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import { parseQuantity, quantityValue } from '../formats/quantity.ts';
import type { PluginResources } from '../node/machine-resources.ts';
import type { ResourceList } from '../pod/resources.ts';

/** Adds the resources of plugins. For a resource that a plugin serves, the plugin's number counts. */
export function withPluginResources(
  { capacity, allocatable, removed }: PluginResources,
  plugins: PluginResources,
): PluginResources {
  return {
    capacity: { ...capacity, ...plugins.capacity },
    allocatable: { ...allocatable, ...plugins.allocatable },
    removed: [...removed, ...plugins.removed.filter((name) => !Object.hasOwn(capacity, name))],
  };
}

/** For a node without a cluster, whose pods are admitted by these facts. */
export function withDevices(facts: OwnNodeFacts, plugins: PluginResources): OwnNodeFacts {
  return {
    ...facts,
    capacity: { ...facts.capacity, ...plugins.capacity },
    allocatable: { ...facts.allocatable, ...plugins.allocatable },
  };
}

/** Devices that containers hold count as allocatable even while their plugin is gone; otherwise their own pods would not fit. */
export function withHeldDevices(allocatable: ResourceList, held: ReadonlyMap<string, number>): ResourceList {
  const short = [...held].filter(([name, count]) => {
    const amount = Object.hasOwn(allocatable, name) ? allocatable[name] : undefined;
    return amount === undefined || quantityValue(parseQuantity(amount)) < BigInt(count);
  });
  if (short.length === 0) return allocatable;
  return { ...allocatable, ...Object.fromEntries(short.map(([name, count]) => [name, String(count)])) };
}
