/** The roles of every cluster that tests use, and their subjects. */
import { MASTERS } from './context.ts';
import { type PolicyRule, READ, rule } from './policy-rule.ts';

const paths = (...nonResourceURLs: readonly string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

const CERTIFICATES = 'certificates.k8s.io';
const APPROVALS = `system:${CERTIFICATES}:certificatesigningrequests`;
const REQUESTS = 'certificatesigningrequests';
const DISCOVERY = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
];
const VERSION = ['/version', '/version/'];

const ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  'cluster-admin': [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
  view: [
    rule(
      READ,
      '',
      'configmaps',
      'endpoints',
      'events',
      'namespaces',
      'persistentvolumeclaims',
      'pods',
      'pods/log',
    ),
    rule(READ, '', 'pods/status', 'replicationcontrollers', 'serviceaccounts', 'services'),
    rule(READ, 'apps', '*'),
    rule(READ, 'batch', '*'),
    rule(READ, 'policy', 'poddisruptionbudgets'),
  ],
  'system:basic-user': [
    rule(['create'], 'authorization.k8s.io', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'),
    rule(['create'], 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:discovery': [paths(...DISCOVERY, ...VERSION)],
  'system:public-info-viewer': [paths('/healthz', '/livez', '/readyz', ...VERSION)],
  'system:node-bootstrapper': [rule(['create', ...READ], CERTIFICATES, REQUESTS)],
  [`${APPROVALS}:nodeclient`]: [rule(['create'], CERTIFICATES, `${REQUESTS}/nodeclient`)],
  [`${APPROVALS}:selfnodeclient`]: [rule(['create'], CERTIFICATES, `${REQUESTS}/selfnodeclient`)],
  'system:kubelet-api-admin': [
    rule([...READ], '', 'nodes'),
    rule(['*'], '', 'nodes/proxy', 'nodes/metrics', 'nodes/log', 'nodes/stats', 'nodes/spec'),
  ],
  'system:auth-delegator': [
    rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
    rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
  ],
};

const BINDINGS: readonly (readonly [role: string, ...groups: string[]])[] = [
  ['cluster-admin', MASTERS],
  ['system:basic-user', 'system:authenticated'],
  ['system:discovery', 'system:authenticated'],
  ['system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'],
];

const GROUP = 'rbac.authorization.k8s.io';
const VERSIONED = { apiVersion: `${GROUP}/v1` };
const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

export function defaultRoles(): readonly (object & { readonly metadata: { readonly name: string } })[] {
  return Object.entries(ROLES).map(([name, rules]) => ({
    ...VERSIONED,
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules,
  }));
}

export function defaultBindings(): readonly (object & { readonly metadata: { readonly name: string } })[] {
  return BINDINGS.map(([name, ...groups]) => ({
    ...VERSIONED,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name },
    subjects: groups.map((group) => ({ apiGroup: GROUP, kind: 'Group', name: group })),
  }));
}
