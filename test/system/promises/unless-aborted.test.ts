import { expect, test } from '@jest/globals';
import { unlessAborted } from '../../../src/system/promises/unless-aborted.ts';

test('has the outcome of the work', async () => {
  const { signal } = new AbortController();
  await expect(unlessAborted(Promise.resolve('done'), signal)).resolves.toBe('done');
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
});

test('rejects with the reason of the signal while the work goes on', async () => {
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = unlessAborted(promise, stop.signal);
  stop.abort(new Error('stopping'));
  await expect(waiting).rejects.toThrow('stopping');
  resolve('done all the same');
  await expect(promise).resolves.toBe('done all the same');
});

test('work that fails although nobody waits for it any more is no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  try {
    const { promise, reject } = Promise.withResolvers<string>();
    await expect(unlessAborted(promise, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    reject(new Error('too late'));
    // Node tells of it before the next turn of the event loop.
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', hear);
  }
});
