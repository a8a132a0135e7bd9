import { expect, test } from '@jest/globals';
import { serviceVariables } from '../../../src/policies/cri/service-variables.ts';
import type { KnownServices } from '../../../src/types/api-objects.ts';
import type { Service } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';

type Ports = NonNullable<NonNullable<Service['spec']>['ports']>;

const service = (
  name: string,
  namespace: string,
  clusterIP: string,
  ports: Ports = [{ port: 80 }],
): Service => ({
  metadata: { name, namespace },
  spec: { clusterIP, ports },
});
const METADATA = { name: 'web', namespace: 'shop', uid: 'u-1' };

function variables(
  services: readonly Service[],
  enableServiceLinks = true,
): Readonly<Record<string, string>> {
  const pod = podOf({ enableServiceLinks }, { metadata: METADATA });
  return Object.fromEntries(serviceVariables(pod, { listed: true, services }));
}
const hosts = (...asked: Parameters<typeof variables>) =>
  Object.entries(variables(...asked)).filter(([name]) => name.endsWith('_SERVICE_HOST'));

test('a service has a variable for its address, for each port and for each link', () => {
  const ports = [
    { name: 'web-ui', port: 80 },
    { port: 53, protocol: 'UDP' },
  ];
  expect(variables([service('my-db', 'shop', '10.0.0.3', ports)])).toEqual({
    MY_DB_SERVICE_HOST: '10.0.0.3',
    MY_DB_SERVICE_PORT: '80',
    MY_DB_SERVICE_PORT_WEB_UI: '80',
    MY_DB_PORT: 'tcp://10.0.0.3:80',
    MY_DB_PORT_80_TCP: 'tcp://10.0.0.3:80',
    MY_DB_PORT_80_TCP_PROTO: 'tcp',
    MY_DB_PORT_80_TCP_PORT: '80',
    MY_DB_PORT_80_TCP_ADDR: '10.0.0.3',
    MY_DB_PORT_53_UDP: 'udp://10.0.0.3:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    MY_DB_PORT_53_UDP_PORT: '53',
    MY_DB_PORT_53_UDP_ADDR: '10.0.0.3',
  });
});

test('an IPv6 address has brackets in URLs', () => {
  expect(variables([service('db', 'shop', 'fd00::3')])).toMatchObject({
    DB_PORT: 'tcp://[fd00::3]:80',
    DB_PORT_80_TCP_ADDR: 'fd00::3',
  });
});

test('a service without ports has only its address', () => {
  expect(variables([service('db', 'shop', '10.0.0.3', [])])).toEqual({ DB_SERVICE_HOST: '10.0.0.3' });
});

test('a pod sees the services of its namespace that have an address', () => {
  const services = [
    service('db', 'shop', '10.0.0.3'),
    service('headless', 'shop', 'None'),
    service('external', 'shop', ''),
    service('other', 'default', '10.0.0.4'),
  ];
  expect(hosts(services)).toEqual([['DB_SERVICE_HOST', '10.0.0.3']]);
  expect(hosts(services, false)).toEqual([]);
});

test('a pod sees the API server, unless its own namespace has a service of that name', () => {
  const apiServer = service('kubernetes', 'default', '10.0.0.1');
  const own = service('kubernetes', 'shop', '10.0.0.9');
  expect(hosts([apiServer], false)).toEqual([['KUBERNETES_SERVICE_HOST', '10.0.0.1']]);
  expect(hosts([own, apiServer])).toEqual([['KUBERNETES_SERVICE_HOST', '10.0.0.9']]);
  expect(hosts([own, apiServer], false)).toEqual([['KUBERNETES_SERVICE_HOST', '10.0.0.1']]);
});

test('pods of the API server wait for the list of services, static pods do not', () => {
  const unlisted: KnownServices = { listed: false, services: [] };
  const of = (source: string) =>
    podOf(
      { enableServiceLinks: true },
      { metadata: { ...METADATA, annotations: { 'kubernetes.io/config.source': source } } },
    );
  expect(() => serviceVariables(of('api'), unlisted)).toThrow(
    'services have not yet been read at least once',
  );
  expect(serviceVariables(of('file'), unlisted)).toEqual(new Map());
});

test('a pod must say whether it wants services', () => {
  expect(() => serviceVariables(podOf(), { listed: true, services: [] })).toThrow(
    'nil pod.spec.enableServiceLinks encountered',
  );
});
