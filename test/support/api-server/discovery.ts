/** The kinds of objects of the server, in the forms in which clients ask for them. */
import { apiVersionOf, groupVersions, type ServedType } from './served-types.ts';

export const VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.2',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  goVersion: 'go1.26',
  compiler: 'gc',
  platform: 'linux/amd64',
};

/** The kinds of subresources that have a kind of their own. */
const SUBRESOURCES: Readonly<
  Record<string, readonly [group: string, version: string, kind: string, verbs: readonly string[]]>
> = {
  log: ['', '', 'Pod', ['get']],
  exec: ['', 'v1', 'PodExecOptions', ['create', 'get']],
  attach: ['', 'v1', 'PodAttachOptions', ['create', 'get']],
  portforward: ['', 'v1', 'PodPortForwardOptions', ['create', 'get']],
  proxy: ['', 'v1', 'PodProxyOptions', ['create', 'delete', 'get', 'patch', 'update']],
  binding: ['', 'v1', 'Binding', ['create']],
  eviction: ['policy', 'v1', 'Eviction', ['create']],
  token: ['authentication.k8s.io', 'v1', 'TokenRequest', ['create']],
  scale: ['autoscaling', 'v1', 'Scale', ['get', 'patch', 'update']],
  finalize: ['', '', 'Namespace', ['update']],
};
const CHANGED = ['get', 'patch', 'update'];

interface Resource {
  readonly name: string;
  readonly kind: readonly [group: string, version: string, kind: string];
  readonly verbs: readonly string[];
  readonly type: ServedType;
}

function resourcesOf(types: readonly ServedType[]): Resource[] {
  return types.flatMap((type) => [
    { name: type.plural, kind: ['', '', type.kind] as const, verbs: type.verbs, type },
    ...type.subresources.map((subresource) => {
      const [group, version, kind, verbs] = SUBRESOURCES[subresource] ?? ['', '', type.kind, CHANGED];
      return { name: `${type.plural}/${subresource}`, kind: [group, version, kind] as const, verbs, type };
    }),
  ]);
}

/** `APIResourceList`. */
function resourceList(groupVersion: string, types: readonly ServedType[]): object {
  const resources = resourcesOf(types).map(({ name, kind: [group, version, kind], verbs, type }) => ({
    name,
    singularName: name.includes('/') ? '' : type.singular,
    namespaced: type.namespaced,
    ...(group !== '' && { group }),
    ...(version !== '' && { version }),
    kind,
    verbs,
    ...(!name.includes('/') && type.shortNames.length > 0 && { shortNames: type.shortNames }),
    ...(!name.includes('/') && type.categories.length > 0 && { categories: type.categories }),
  }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

const namedGroups = () => [
  ...new Set(
    groupVersions()
      .map(([group]) => group)
      .filter(Boolean),
  ),
];
const versionsOf = (group: string) =>
  groupVersions()
    .filter(([one]) => one === group)
    .map(([, version]) => ({
      groupVersion: apiVersionOf({ group, version }),
      version,
    }));

const groupObject = (name: string) => ({
  name,
  versions: versionsOf(name),
  preferredVersion: versionsOf(name)[0],
});

const AGGREGATED = /application\/json;[^,]*as=APIGroupDiscoveryList/;

export interface Discovered {
  readonly body: object;
  readonly contentType: string;
}

/** The answer at that path; undefined: there is none. `accept`: present versions of kubectl ask for all groups at once. */
export function discovered(path: string, accept: string): Discovered | undefined {
  const plain = (body: object): Discovered => ({ body, contentType: 'application/json' });
  const isAggregated = AGGREGATED.test(accept);
  if (path === '/api' && isAggregated) return aggregated(accept, ['']);
  if (path === '/apis' && isAggregated) return aggregated(accept, namedGroups());
  if (path === '/api')
    return plain({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
  if (path === '/apis')
    return plain({ kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups().map(groupObject) });
  const [, root, group = '', version] = path.split('/');
  if (root === 'api' && version === undefined) return withTypes('', group);
  if (root !== 'apis') return undefined;
  if (version !== undefined) return withTypes(group, version);
  if (!namedGroups().includes(group)) return undefined;
  return plain({ kind: 'APIGroup', apiVersion: 'v1', ...groupObject(group) });
}

function withTypes(group: string, version: string): Discovered | undefined {
  const found = groupVersions().find(([one, other]) => one === group && other === version);
  if (found === undefined) return undefined;
  return { body: resourceList(apiVersionOf({ group, version }), found[2]), contentType: 'application/json' };
}

/** `APIGroupDiscoveryList`. */
function aggregated(accept: string, groups: readonly string[]): Discovered {
  const version = accept.includes('v=v2;') || /v=v2(?:[,;]|$)/.test(accept) ? 'v2' : 'v2beta1';
  const items = groups.map((group) => ({
    metadata: { ...(group !== '' && { name: group }), creationTimestamp: null },
    versions: groupVersions()
      .filter(([one]) => one === group)
      .map(([, served, types]) => ({
        version: served,
        freshness: 'Current',
        resources: types.map((type) => aggregatedResource(type)),
      })),
  }));
  return {
    body: {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items,
    },
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  };
}

function aggregatedResource(type: ServedType): object {
  const kindOf = ([group, version, kind]: Resource['kind']) => ({
    group: kind === type.kind ? type.group : group,
    version: version === '' ? type.version : version,
    kind,
  });
  const [own, ...subresources] = resourcesOf([type]);
  return {
    resource: type.plural,
    responseKind: kindOf(own?.kind ?? ['', '', type.kind]),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: type.verbs,
    ...(type.shortNames.length > 0 && { shortNames: type.shortNames }),
    ...(type.categories.length > 0 && { categories: type.categories }),
    ...(subresources.length > 0 && {
      subresources: subresources.map(({ name, kind, verbs }) => ({
        subresource: name.split('/')[1],
        responseKind: kindOf(kind),
        verbs,
      })),
    }),
  };
}
