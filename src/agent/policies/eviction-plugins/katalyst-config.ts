/**
 * What Katalyst's objects set for eviction plugins on a node. Its controller names in the node's CustomNodeConfig which AdminQoSConfiguration and
 * which AuthConfiguration are for the node, with the hash of what they say: selectors, priorities and roll-outs are decided there.
 */
import { isJsonObject } from '../formats/canonical-json.ts';
import { shortLine } from '../formats/terminal-text.ts';

/** The resources whose objects are for nodes. */
export type TargetResource = keyof typeof KINDS;

export interface ConfigTarget {
  readonly resource: TargetResource;
  readonly name: string;
  readonly namespace: string;
  readonly hash: string;
}

/** What an AdminQoSConfiguration says of eviction. */
export interface ClusterEvictionConfig {
  /** Not checked. */
  readonly evictionConfig: object;
  /** For people: which object. */
  readonly origin: string;
}

const KINDS = {
  adminqosconfigurations: 'AdminQoSConfiguration',
  authconfigurations: 'AuthConfiguration',
} as const;
const TARGET_TYPE = { group: 'config.katalyst.kubewharf.io', version: 'v1alpha1' } as const;
const NAME_MAX = 253;

/** `config`: a CustomNodeConfig. Undefined where no object of that resource is for the node. */
export function configTarget(config: unknown, resource: TargetResource): ConfigTarget | undefined {
  const list = member(member(config, 'status'), 'katalystCustomConfigList');
  const targets: readonly unknown[] = Array.isArray(list) ? list : [];
  const target = targets.find((one) => isTargetType(member(one, 'configType'), resource));
  const [name, namespace, hash] = ['configName', 'configNamespace', 'hash'].map((field) =>
    member(target, field),
  );
  if (typeof name !== 'string' || name === '' || typeof namespace !== 'string' || typeof hash !== 'string')
    return undefined;
  return { resource, name, namespace, hash };
}

export function isSameTarget(one: ConfigTarget | undefined, other: ConfigTarget | undefined): boolean {
  return one?.name === other?.name && one?.namespace === other?.namespace && one?.hash === other?.hash;
}

/** For people. */
export function targetText({ resource, namespace, name }: ConfigTarget): string {
  return `${KINDS[resource]} ${shortLine(`${namespace}/${name}`, 2 * NAME_MAX)}`;
}

/** `object`: an AdminQoSConfiguration. */
export function evictionConfigOf(object: unknown): object {
  const config = member(member(member(object, 'spec'), 'config'), 'evictionConfig');
  return isJsonObject(config) ? config : {};
}

function isTargetType(type: unknown, resource: TargetResource): boolean {
  return Object.entries({ ...TARGET_TYPE, resource }).every(
    ([field, value]) => member(type, field) === value,
  );
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}
