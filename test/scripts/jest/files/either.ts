import { expect, jest, test } from '@jest/globals';
import * as qos from '../../../../src/agent/policies/pod/qos.ts';
import { kept } from './kept.ts';

const worker = globalThis as { productModule?: unknown };

test('finds the process as it was before any file, and changes it', () => {
  expect(process.env.EXAMPLE).toBeUndefined();
  expect(process.env.HOME).toBe('/home/example');
  expect(process.cwd()).not.toBe('/');
  expect(Date.now()).toBeGreaterThan(1_000_000);
  process.env.EXAMPLE = 'changed';
  process.env.HOME = '/changed';
  process.chdir('/');
  jest.useFakeTimers();
  jest.spyOn(Date, 'now').mockReturnValue(1);
});

test('shares the modules of the product', () => {
  worker.productModule ??= qos;
  expect(worker.productModule).toBe(qos);
});

test('has modules below `test/` with their hooks for itself', () => {
  kept.count += 1;
  expect(kept).toEqual({ count: 1, ended: 2 });
});

test('fails where a promise is rejected that nobody waits for', async () => {
  jest.useRealTimers();
  void Promise.reject(new Error('nobody waits for this'));
  await new Promise((resolve) => setImmediate(resolve));
});

test('fails when its time is over', () => new Promise(() => undefined), 20);

test('counts what holds', () => {
  expect.assertions(4);
  expect(NaN).toBe(NaN);
  expect({ a: [1], b: undefined }).toEqual({ a: [expect.any(Number)] });
  expect(new Set([1])).toEqual(new Set([1]));
  expect(0).not.toBe(-0);
});

test('fails where it counts too few', () => {
  expect.assertions(2);
  expect(1).toBe(1);
});

test.each([
  ['identical', () => expect({}).toBe({})],
  ['equal', () => expect([1, { a: 1 }]).toEqual([1, { a: 2 }])],
  ['different', () => expect(1).not.toEqual(1)],
])('fails where values are not %s', (_, fails) => fails());
