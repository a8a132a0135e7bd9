import { describe, expect, test } from '@jest/globals';
import { redact } from '../../../src/agent/server/redact.ts';

describe('redacted', () => {
  const cases: [string, unknown, unknown][] = [
    [
      'values of env, whatever they come from',
      {
        env: [
          { name: 'A', value: 'x' },
          { name: 'B', valueFrom: { secretKeyRef: { key: 'k' } } },
        ],
      },
      {
        env: [
          { name: 'A', value: '***' },
          { name: 'B', value: '***' },
        ],
      },
    ],
    ["CRI's envs", { envs: [{ key: 'A', value: 'x' }] }, { envs: [{ key: 'A', value: '***' }] }],
    ['env of another form, as a whole', { env: { A: 'x' } }, { env: '***' }],
    [
      'headers of probes',
      { httpGet: { httpHeaders: [{ name: 'Authorization', value: 'x' }] } },
      { httpGet: { httpHeaders: [{ name: 'Authorization', value: '***' }] } },
    ],
    [
      'tokens and passwords by name',
      { token: 'x', dbPassword: 'x', registryToken: 'x', identityToken: 1 },
      { token: '***', dbPassword: '***', registryToken: '***', identityToken: '***' },
    ],
    ['users of URLs inside texts', 'get https://me:pw@host/x failed', 'get https://***@host/x failed'],
    [
      'errors, down to their message',
      new Error('see https://a:b@c'),
      { name: 'Error', message: 'see https://***@c' },
    ],
  ];
  test.each(cases)('%s', (_, given, want) => {
    expect(redact(given)).toEqual(want);
  });
});

describe('kept', () => {
  const cases: [string, unknown, unknown][] = [
    [
      'flags that merely speak of secrets',
      { automountServiceAccountToken: false, secret: null },
      { automountServiceAccountToken: false, secret: null },
    ],
    [
      'labels, names, numbers',
      { metadata: { labels: { app: 'a' } }, n: 1, ok: true, no: null },
      { metadata: { labels: { app: 'a' } }, n: 1, ok: true, no: null },
    ],
    ['maps and sets, in a form that JSON has', { m: new Map([['a', new Set([1])]]) }, { m: { a: [1] } }],
    ['what an object says of itself', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ];
  test.each(cases)('%s', (_, given, want) => {
    expect(redact(given)).toEqual(want);
  });

  test('the original object, without changes', () => {
    const original = { env: [{ name: 'A', value: 'x' }] };
    redact(original);
    expect(original).toEqual({ env: [{ name: 'A', value: 'x' }] });
  });
});

test('cycles end', () => {
  const cycle: Record<string, unknown> = { name: 'a' };
  cycle.self = cycle;
  expect(JSON.stringify(redact(cycle))).toContain('[…]');
});
