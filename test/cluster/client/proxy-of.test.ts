import { describe, expect, test } from '@jest/globals';
import { hostOf, portOf, proxyOf } from '../../../src/cluster/client/proxy-of.ts';

const SERVER = new URL('https://api.example.com:6443');
const ADDRESS = new URL('https://10.1.2.3');
const PROXY = 'http://proxy:3128';
const of = (server: URL, env: Record<string, string>, configured?: string) =>
  proxyOf(server, configured, env);

describe('the proxy to the API server', () => {
  test('is that of the kubeconfig, whatever the environment says', () => {
    const env = { HTTPS_PROXY: PROXY, NO_PROXY: '*' };
    expect(of(SERVER, env, 'socks5://other:1080')).toBe('socks5://other:1080');
    expect(of(SERVER, { HTTPS_PROXY: PROXY }, '')).toBe(PROXY);
  });

  test('is else that of the environment for the protocol of the server', () => {
    expect(of(SERVER, { HTTPS_PROXY: PROXY })).toBe(PROXY);
    expect(of(SERVER, { https_proxy: PROXY })).toBe(PROXY);
    expect(of(SERVER, { HTTP_PROXY: PROXY })).toBeUndefined();
    expect(of(new URL('http://api:8080'), { HTTP_PROXY: PROXY })).toBe(PROXY);
    expect(of(SERVER, { HTTPS_PROXY: '', https_proxy: PROXY })).toBe(PROXY);
    expect(of(SERVER, {})).toBeUndefined();
  });

  test('may be given without its protocol', () => {
    expect(of(SERVER, { HTTPS_PROXY: 'proxy:3128' })).toBe(PROXY);
  });

  test.each(['https://localhost:6443', 'https://127.0.0.1:6443', 'https://127.1.2.3', 'https://[::1]:6443'])(
    'of the environment is not used for %s',
    (server) => expect(of(new URL(server), { HTTPS_PROXY: PROXY })).toBeUndefined(),
  );

  test.each([
    ['*', true],
    ['api.example.com', true],
    ['API.Example.com', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['.api.example.com', false],
    ['ample.com', false],
    ['api.example.com:6443', true],
    ['api.example.com:443', false],
    ['other, example.com', true],
    ['10.0.0.0/8', false],
    ['', false],
  ])('NO_PROXY "%s" excludes a name: %s', (noProxy, excluded) => {
    const proxy = of(SERVER, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });

  test.each([
    ['10.1.2.3', true],
    ['10.1.2.3:443', true],
    ['10.1.2.3:6443', false],
    ['10.0.0.0/8', true],
    ['10.1.2.0/24', true],
    ['10.2.0.0/16', false],
    ['10.0.0.0/33', false],
    ['10.0.0.0/x', false],
    ['fd00::/8', false],
    ['2.3', false],
  ])('NO_PROXY "%s" excludes an address: %s', (noProxy, excluded) => {
    const proxy = of(ADDRESS, { HTTPS_PROXY: PROXY, no_proxy: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });

  test.each([
    ['fd00::/8', true],
    ['[fd00::7]:6443', true],
    ['fd00::7', true],
    ['fe80::/10', false],
  ])('NO_PROXY "%s" excludes an address of IPv6: %s', (noProxy, excluded) => {
    const proxy = of(new URL('https://[fd00::7]:6443'), { HTTPS_PROXY: PROXY, no_proxy: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });
});

test('host and port of a server', () => {
  expect([hostOf(SERVER), portOf(SERVER)]).toEqual(['api.example.com', 6443]);
  expect([hostOf(ADDRESS), portOf(ADDRESS)]).toEqual(['10.1.2.3', 443]);
  expect([hostOf(new URL('http://[::1]')), portOf(new URL('http://[::1]'))]).toEqual(['::1', 80]);
});
