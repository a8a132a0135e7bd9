import { describe, expect, test } from '@jest/globals';
import { EnvFileReader, serviceVariables } from '../../../../src/agent/policies/cri/env-sources.ts';
import type { KnownServices } from '../../../../src/types/api-objects.ts';
import type { Service } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const envFileValue = (text: string, name: string) => new EnvFileReader(text).value(name);

/** The results are those of the kubelet 1.36.2. */
describe('a file of variables', () => {
  test.each([
    ["K='v'\n", 'v'],
    ["K='v w'", 'v w'],
    ["  K='v'", 'v'],
    ["\tK='v'", 'v'],
    ["K='v' ", 'v'],
    ["K='v' # c", 'v'],
    ["K='v'#c", 'v'],
    ["K='a\nb'\nL='c'", 'a\nb'],
    ["L='c\nd'\nK='v'", 'v'],
    ["L='a\nK=1'\nK='v'", 'v'],
    ["K='a\n# b\n c '", 'a\n# b\n c '],
    ["K='\n'", '\n'],
    ["K='v'\r\n", 'v'],
    ["  # it's\n\n  \nK='v'", 'v'],
    ["K='a#b'", 'a#b'],
    ["K='a=b'", 'a=b'],
    ["K='a\\nb'", 'a\\nb'],
    ["K='$X'", '$X'],
    ["K='v'\nK='w'", 'v'],
    ["KK='x'\nK='v'", 'v'],
    [" K K='x'\nK='v'", 'v'],
    ["1-K.x='v'\nK='w'", 'w'],
    ["é='v'\nK='ü'", 'ü'],
  ])('%j gives K its value', (text, value) => {
    expect(envFileValue(text, 'K')).toBe(value);
  });

  test.each(["K='v'\nx", "K='v'\nL=2", "K='a'\n'b'"])('%j is not read beyond the variable', (text) => {
    expect(envFileValue(text, 'K')).toBeDefined();
  });

  test.each(["L='x'", '', "K=''", "K= 'v'", "export K='v'", "\uFEFFK='v'"])(
    '%j has no value for K',
    (text) => {
      expect(envFileValue(text, 'K')).toBeUndefined();
    },
  );

  test.each([
    ["K ='v'", "line 1 has a blank before the '='"],
    ["K='v'x", 'line 1 has something behind the closing quote'],
    ["K='it\\'s'", 'line 1 has something behind the closing quote'],
    ["K='v'; L='w'", 'line 1 has something behind the closing quote'],
    ["K='v'\v", 'line 1 has something behind the closing quote'],
    ["L='a\nb'c\nK='v'", 'line 2 has something behind the closing quote'],
    ["\nK='v", 'line 2 has a value whose quote is not closed'],
    ['K="v"', 'line 1 has a value that is not in single quotes'],
    ['K=', 'line 1 has a value that is not in single quotes'],
    ["# c\nL=2\nK='v'", 'line 2 has a value that is not in single quotes'],
    ["x\nK='v'", "line 1 has no '='"],
    ["='v'\nK='w'", "line 1 has no name before the '='"],
    [`L='${'x'.repeat(70_000)}'\nK='v'`, 'line 1 is longer than 65535 characters'],
  ])('%j is an error that names the line', (text, message) => {
    expect(() => envFileValue(text, 'K')).toThrow(message);
  });

  test('has the values of several variables, in any order, also of those before one that was read', () => {
    const file = new EnvFileReader("A='1'\nB='2'\nA='3'\nC='4'");
    expect(['C', 'A', 'X', 'B', 'C'].map((name) => file.value(name))).toEqual([
      '4',
      '1',
      undefined,
      '2',
      '4',
    ]);
  });

  test('an error does not repeat what the file holds', () => {
    expect(() => envFileValue('PASSWORD=secret', 'K')).toThrow(/^(?!.*(?:secret|PASSWORD))/);
  });
});

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
