/** Katalyst's objects for tests, and minimal definitions of their kinds. */
import type { ObjectReference } from '../../src/agent/cluster/service/api-resources.ts';

const CONFIG_GROUP = 'config.katalyst.kubewharf.io';

/** The object that Katalyst's controller writes for a node. */
export function customNodeConfig(
  { resource, namespace, name }: Pick<ObjectReference, 'resource' | 'namespace' | 'name'>,
  hash: string,
) {
  const configType = { group: CONFIG_GROUP, version: 'v1alpha1', resource };
  const others = { ...configType, resource: 'transparentmemoryoffloadingconfigurations' };
  const list = [
    { configType: others, configName: 'others', configNamespace: 'katalyst', hash: 'x' },
    { configType, configName: name, configNamespace: namespace, hash },
  ];
  return { spec: {}, status: { katalystCustomConfigList: list } };
}

export function adminQoS(evictionConfig: object): object {
  return { spec: { config: { evictionConfig } } };
}

function definition(
  group: string,
  kind: string,
  plural: string,
  scope: 'Cluster' | 'Namespaced',
  spec: object,
) {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status: anything } } },
        },
      ],
    },
  };
}

const ANY_SPEC = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const text = { type: 'string' };
const TAINTS = {
  type: 'array',
  items: {
    type: 'object',
    required: ['key', 'effect', 'qosLevel'],
    properties: {
      ...{ key: text, value: text, effect: text, timeAdded: { type: 'string', format: 'date-time' } },
      qosLevel: { ...text, enum: ['reclaimed_cores', 'shared_cores', 'dedicated_cores', 'system_cores'] },
    },
  },
};

export const KATALYST_DEFINITIONS: readonly object[] = [
  definition('node.katalyst.kubewharf.io', 'CustomNodeResource', 'customnoderesources', 'Cluster', {
    type: 'object',
    properties: { taints: TAINTS },
  }),
  definition(CONFIG_GROUP, 'CustomNodeConfig', 'customnodeconfigs', 'Cluster', ANY_SPEC),
  definition(CONFIG_GROUP, 'AdminQoSConfiguration', 'adminqosconfigurations', 'Namespaced', ANY_SPEC),
  definition(CONFIG_GROUP, 'AuthConfiguration', 'authconfigurations', 'Namespaced', ANY_SPEC),
];
