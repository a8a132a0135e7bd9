import { expect, test } from '@jest/globals';
import { isForeign, isLoopback } from '../../../src/agent/server/foreign-request.ts';

const NAMES = ['Node-A'];

test.each([
  [{ host: 'rebound.example' }],
  [{ host: 'localhost.rebound.example' }],
  [{ host: '127.0.0.1.rebound.example' }],
  [{ host: 'a b' }],
  [{ host: '127.0.0.1', origin: 'null' }],
  [{ host: '127.0.0.1', origin: 'https://example.com' }],
  [{ host: 'rebound.example', origin: 'http://rebound.example' }],
  [{ host: '127.0.0.1:1', origin: 'http://127.0.0.1:2' }],
  [{ host: '127.0.0.1', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  [{ host: '127.0.0.1', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
  [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
])('%j is foreign', (headers) => {
  expect(isForeign(headers, NAMES)).toBe(true);
});

test.each([
  [{}],
  [{ host: '10.0.0.7' }],
  [{ host: '[::1]:10248' }],
  [{ host: 'LOCALHOST.' }],
  [{ host: 'statelet.localhost' }],
  [{ host: 'node-a:10248' }],
  [{ host: '127.0.0.1:1', origin: 'http://127.0.0.1:1' }],
  [{ host: 'node-a', origin: '' }],
  [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }],
  [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
  [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
])('%j is not foreign', (headers) => {
  expect(isForeign(headers, NAMES)).toBe(false);
});

test.each([
  ['localhost', true],
  ['127.0.0.2', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.7', false],
])('%s can be reached only from this machine: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
