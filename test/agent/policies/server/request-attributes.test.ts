import { describe, expect, test } from '@jest/globals';
import {
  bearerToken,
  requestAttributes,
  type TokenHeaders,
} from '../../../../src/agent/policies/server/request-attributes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

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

const WEBSOCKET = { connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' };

const PREFIX = 'base64url.bearer.authorization.k8s.io.';

const encoded = (token: string) => PREFIX + Buffer.from(token).toString('base64url');

const among = (protocols: string): TokenHeaders => ({ ...WEBSOCKET, 'sec-websocket-protocol': protocols });

describe('the header Authorization', () => {
  test.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    [' Bearer abc ', 'abc'],
    ['Bearer abc def', 'abc'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer  abc', undefined],
    ['Basic abc', undefined],
    ['', undefined],
  ])('"%s" has the token %s', (authorization, token) => {
    expect(bearerToken({ authorization })?.token).toBe(token);
  });
});

describe('the subprotocols of a WebSocket', () => {
  test('may have the token, which is taken out of them', () => {
    expect(bearerToken(among(`v5.channel.k8s.io, ${encoded('a?b')} ,v4.channel.k8s.io`))).toEqual({
      token: 'a?b',
      otherProtocols: 'v5.channel.k8s.io,v4.channel.k8s.io',
    });
  });

  test('have none in a request for something else, nor where the header Authorization has one', () => {
    const { 'sec-websocket-protocol': protocols } = among(`a,${encoded('t')}`);
    expect(bearerToken({ 'sec-websocket-protocol': protocols })).toBeUndefined();
    expect(
      bearerToken({ ...among(''), upgrade: 'SPDY/3.1', 'sec-websocket-protocol': protocols }),
    ).toBeUndefined();
    expect(bearerToken({ ...among(`a,${encoded('t')}`), authorization: 'Bearer other' })).toEqual({
      token: 'other',
    });
    expect(bearerToken(among('v5.channel.k8s.io'))).toBeUndefined();
    expect(bearerToken(among(`a,${PREFIX}`))).toBeUndefined();
  });

  test.each([
    ['no other subprotocol', encoded('secret')],
    ['two tokens', `a,${encoded('secret')},${encoded('other')}`],
    ['padding', `a,${PREFIX}c2VjcmV0MQ==`],
    ['no base64url', `a,${PREFIX}c2Vj+mV0`],
    ['no UTF-8', `a,${PREFIX}${Buffer.from([0xff, 0xfe]).toString('base64url')}`],
  ])('with %s are an error that tells nothing of the token', (_what, protocols) => {
    expect(() => bearerToken(among(protocols))).toThrow(/subprotocol/u);
    expect(() => bearerToken(among(protocols))).not.toThrow(/secret|c2Vj/u);
  });
});
