import { describe, expect, test } from '@jest/globals';
import { requestAttributes } from '../../../src/policies/server/request-attributes.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('serverAuth');

const asked = (method: string, path: string) =>
  requestAttributes(method, path, 'node-a').map(({ verb, subresource }) => `${verb} nodes/${subresource}`);

describe('a request asks for', () => {
  test('a subresource of its own first, and then for the whole server', () => {
    expect(asked('GET', '/pods')).toEqual(['get nodes/pods', 'get nodes/proxy']);
    expect(asked('GET', '/healthz/ping')).toEqual(['get nodes/healthz', 'get nodes/proxy']);
  });

  test('one subresource where the whole server does not suffice', () => {
    expect(asked('GET', '/metrics/cadvisor')).toEqual(['get nodes/metrics']);
    expect(asked('GET', '/logs/')).toEqual(['get nodes/log']);
  });

  test('the whole server at any other path, whatever it is', () => {
    for (const path of ['/exec/a/b/c', '/', '', '/podsecrets', '/x/../pods', '/PODS', '//pods'])
      expect(asked('POST', path)).toEqual(['create nodes/proxy']);
  });

  test('no verb with a method that is none of the five', () => {
    expect(asked('HEAD', '/stats/summary')).toEqual([' nodes/stats']);
    expect(asked('get', '/stats/summary')).toEqual([' nodes/stats']);
    expect(asked('constructor', '/stats/summary')).toEqual([' nodes/stats']);
  });
});
