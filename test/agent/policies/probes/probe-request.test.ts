import { describe, expect, test } from '@jest/globals';
import {
  execCommand,
  type HTTPGetAction,
  httpRequest,
  requestURL,
  socketAddress,
  timeoutSeconds,
} from '../../../../src/agent/policies/probes/probe-request.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';

const CONTAINER: Container = {
  name: 'main',
  ports: [{ containerPort: 9999 }, { name: 'web', containerPort: 8080, hostPort: 80 }],
  env: [
    { name: 'WHO', value: 'me' },
    { name: 'REF', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
};
const get = (action: Partial<HTTPGetAction>, what: 'probe' | 'lifecycle' = 'probe') =>
  httpRequest({ port: 8080, ...action }, CONTAINER, '10.0.0.7', what);
const url = (action: Partial<HTTPGetAction>) => requestURL(get(action));
const header = (action: Partial<HTTPGetAction>, name: string) =>
  get(action).headers.filter((one) => one.name.toLowerCase() === name);

describe('address', () => {
  test("the host is the pod's address, unless the handler names one", () => {
    expect(socketAddress({ port: 1 }, CONTAINER, '10.0.0.7')).toEqual({ host: '10.0.0.7', port: 1 });
    expect(socketAddress({ port: 1, host: '' }, CONTAINER, '10.0.0.7').host).toBe('10.0.0.7');
    expect(socketAddress({ port: 1, host: 'db' }, CONTAINER, undefined).host).toBe('db');
  });

  test('a pod without an address is an error', () => {
    expect(() => socketAddress({ port: 1 }, CONTAINER, undefined)).toThrow('no address yet');
  });

  test('a port is a number, the name of a port of the container, or a number as text', () => {
    const ports = [81, 'web', '82'].map((port) => socketAddress({ port }, CONTAINER, 'h').port);
    expect(ports).toEqual([81, 8080, 82]);
  });

  test('an unknown name of a port is an error that names it', () => {
    expect(() => socketAddress({ port: 'admin' }, CONTAINER, 'h')).toThrow(
      'container main has no port of the name "admin"',
    );
  });

  test.each([0, 65_536, '70000', 1.5])('%s is no port', (port) => {
    expect(() => socketAddress({ port }, CONTAINER, 'h')).toThrow('invalid port number');
  });
});

describe('httpGet', () => {
  test('URL: scheme, host, port, path and query', () => {
    expect(url({ path: '/healthz?full=1' })).toBe('http://10.0.0.7:8080/healthz?full=1');
    expect(url({ scheme: 'HTTPS', path: '/x' })).toBe('https://10.0.0.7:8080/x');
    expect(url({ host: 'fd00::1' })).toBe('http://[fd00::1]:8080/');
  });

  test.each([
    ['healthz', '/healthz'],
    ['', '/'],
    ['/a b', '/a%20b'],
    ['http://elsewhere/x?y', '/x?y'],
    ['//elsewhere/x', '/x'],
    ['http://[bad', '/http://[bad'],
  ])('of "%s" only path and query count: %s', (path, wanted) => {
    expect(decodeURI(get({ path }).path)).toBe(decodeURI(wanted));
    expect(get({ path }).host).toBe('10.0.0.7');
  });

  test.each([
    ['/a/../b/./c', '/a/../b/./c'],
    ['/a/%2e%2e/b', '/a/%2e%2e/b'],
    ['/a\\b|c', '/a%5Cb%7Cc'],
    ['/ä(x)', '/%C3%A4%28x%29'],
    ["/(x)!*'[y]", "/(x)!*'[y]"],
    ['/a%zz?b#c', '/a%25zz%3Fb%23c'],
    ['/a?', '/a?'],
    ['/a?b?c|d#e', '/a?b?c|d'],
    ['/a?b c', '/a?b%20c'],
    ['///a//b', '///a//b'],
    ['http://user@[fd00::1]:80/x', '/x'],
    ['http://host:port/x', '/http://host:port/x'],
    ['a/b:c', '/a/b:c'],
    ['1a:b/c', '/1a:b/c'],
    ['/x\ty', '/x%09y'],
    ['*', '/*'],
  ])('of "%s" is asked for as Go writes it: %s', (path, wanted) => {
    expect(get({ path }).path).toBe(wanted);
  });

  test('headers that are not given are filled in', () => {
    expect(get({})).toMatchObject({
      hostHeader: '10.0.0.7:8080',
      headers: [
        { name: 'User-Agent', value: 'kube-probe/1.36' },
        { name: 'Accept', value: '*/*' },
      ],
    });
    expect(get({}, 'lifecycle').headers[0]?.value).toBe('kube-lifecycle/1.36');
  });

  test('headers of the handler replace the default ones, and may be repeated', () => {
    const httpHeaders = [
      { name: 'user-agent', value: 'me' },
      { name: 'X-A', value: '1' },
      { name: 'x-a', value: '2' },
    ];
    expect(header({ httpHeaders }, 'user-agent')).toEqual([{ name: 'user-agent', value: 'me' }]);
    expect(header({ httpHeaders }, 'x-a').map(({ value }) => value)).toEqual(['1', '2']);
  });

  test('with an empty Accept that header is not sent', () => {
    expect(header({ httpHeaders: [{ name: 'Accept', value: '' }] }, 'accept')).toEqual([]);
  });

  test('Host sets the header, not the address', () => {
    const request = get({ httpHeaders: [{ name: 'host', value: 'example.org' }] });
    expect(request).toMatchObject({ host: '10.0.0.7', hostHeader: 'example.org' });
    expect(request.headers.some(({ name }) => name.toLowerCase() === 'host')).toBe(false);
  });
});

test('an exec command is expanded with the literal values of the environment only', () => {
  expect(execCommand(['$(WHO)', '$$(WHO)', '$(REF)', '$(NONE)'], CONTAINER)).toEqual([
    'me',
    '$(WHO)',
    '',
    '$(NONE)',
  ]);
});

test('a command that variables make longer than Linux takes is refused, and names the container', () => {
  const env = [{ name: 'A', value: 'x'.repeat(1_000) }];
  expect(() => execCommand(['sh', '$(A)'.repeat(200_000)], { ...CONTAINER, env })).toThrow(
    /^command\[1\] of a probe of container "main" is longer than 128 KiB/,
  );
});

test('the default time limit is 1 s', () => {
  expect([
    timeoutSeconds({}),
    timeoutSeconds({ timeoutSeconds: 0 }),
    timeoutSeconds({ timeoutSeconds: 5 }),
  ]).toEqual([1, 1, 5]);
});
