import { expect, test } from '@jest/globals';
import { type QueueRequest, SharedQueue } from '../../../../src/agent/runtime/images/shared-queue.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';

/** A queue whose jobs run until the test ends them. The result of a job is a text. */
function bed(limit: number) {
  const queue = new SharedQueue<string>(limit);
  const begun: {
    readonly key: string;
    readonly signal: AbortSignal;
    readonly end: (result: string) => void;
  }[] = [];
  const run = (key: string, { joinsBegun = false, signal = new AbortController().signal } = {}) => {
    const request: QueueRequest = { key, joinsBegun, signal };
    return queue.run(request, (given) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      begun.push({ key, signal: given, end: resolve });
      return promise;
    });
  };
  return { begun, run, keys: () => begun.map(({ key }) => key) };
}

test('jobs begin in the order of the requests, and the limit bounds how many run at once', async () => {
  const { begun, run, keys } = bed(2);
  const results = ['a', 'b', 'c'].map((key) => run(key));
  expect(keys()).toEqual(['a', 'b']);
  begun[1]?.end('b done');
  await settled();
  expect(keys()).toEqual(['a', 'b', 'c']);
  begun[0]?.end('a done');
  begun[2]?.end('c done');
  expect(await Promise.all(results)).toEqual(['a done', 'b done', 'c done']);
});

test('requests for a job that has not begun share it', async () => {
  const { begun, run, keys } = bed(1);
  const first = run('first');
  const shared = [run('shared'), run('shared')];
  begun[0]?.end('done');
  await first;
  await settled();
  begun[1]?.end('shared done');
  expect(await Promise.all(shared)).toEqual(['shared done', 'shared done']);
  expect(keys()).toEqual(['first', 'shared']);
});

test('a job that has begun is shared only by requests that allow it', async () => {
  const { begun, run, keys } = bed(2);
  const first = run('image');
  const joining = run('image', { joinsBegun: true });
  const fresh = run('image');
  expect(keys()).toEqual(['image', 'image']);
  begun[0]?.end('old');
  begun[1]?.end('new');
  expect(await Promise.all([first, joining, fresh])).toEqual(['old', 'old', 'new']);
});

test('a job is aborted when its last request is, and then the next one begins', async () => {
  const { begun, run, keys } = bed(1);
  const [one, other] = [new AbortController(), new AbortController()];
  const shared = [one, other].map(({ signal }) => run('slow', { joinsBegun: true, signal }));
  const next = run('next');
  one.abort(new Error('pod one ends'));
  await expect(shared[0]).rejects.toThrow('pod one ends');
  expect(begun[0]?.signal.aborted).toBe(false);
  other.abort(new Error('pod two ends'));
  await expect(shared[1]).rejects.toThrow('pod two ends');
  expect(begun[0]?.signal.aborted).toBe(true);
  begun[0]?.end('aborted');
  await settled();
  expect(keys()).toEqual(['slow', 'next']);
  begun[1]?.end('done');
  expect(await next).toBe('done');
});

test('a job whose requests are aborted before it begins never begins', async () => {
  const { begun, run, keys } = bed(1);
  const first = run('first');
  const abort = new AbortController();
  const waiting = run('waiting', { signal: abort.signal });
  abort.abort(new Error('the pod ends'));
  await expect(waiting).rejects.toThrow('the pod ends');
  begun[0]?.end('done');
  await first;
  await settled();
  expect(keys()).toEqual(['first']);
});
