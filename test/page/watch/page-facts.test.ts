import { expect, test } from '@jest/globals';
import type { RecordedEnd, RecordedLife } from '../../../src/agent/policies/why/why-gone.ts';
import { gonePod, PageFacts } from '../../../src/page/watch/page-facts.ts';

const facts = new PageFacts({
  agent: { supervisor: { registry: new Map() } },
  clock: { now: () => 9_000 },
  events: () => [],
} as never);

function shown(end: Partial<RecordedEnd> | undefined): readonly string[] {
  const told = { cause: 'Completed', toldMs: 1, endedMs: 2, phase: '', reason: '', message: '' } as const;
  const life: RecordedLife = {
    ...{ namespace: 'shop', name: 'web', uid: 'u', origin: 'static' as const },
    ...{ state: 'Terminated.Finished', sinceMs: 1, end: end && { ...told, ...end } },
  };
  return facts.gone([life]).flatMap(({ kind, status }) => [kind, status]);
}

test.each([
  [{ phase: 'Succeeded' }, ['done', 'Completed']],
  [{ phase: 'Failed' }, ['failed', 'Error']],
  [{ phase: 'Failed', reason: 'Evicted' }, ['failed', 'Evicted']],
  [{ phase: 'Failed', cause: 'Unwanted' as const }, ['failed', 'Unwanted']],
])('a pod that has gone with %j is shown as %j', (end, row) => {
  expect(shown(end)).toEqual(row);
});

test('its own view shows the same, and no end of one that is not known to have been here', () => {
  const end = { cause: 'Evicted', phase: 'Failed', reason: 'Evicted' } as const;
  const why = { subject: 'shop/web', state: 'Gone', sentences: ['shop/web ended.'], end };
  const evicted = { status: 'Evicted', kind: 'failed' };
  expect(gonePod(why)).toEqual({ sentences: why.sentences, end: evicted });
  expect(gonePod({ ...why, state: 'Syncing.Settled' })).toEqual({ sentences: why.sentences });
  expect(gonePod(undefined)).toEqual({ sentences: [] });
});

test('one whose end is not known has just gone', () => {
  expect(shown(undefined)).toEqual(['done', 'Gone']);
});
