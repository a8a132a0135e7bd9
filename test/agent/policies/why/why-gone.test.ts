import { describe, expect, test } from '@jest/globals';
import {
  type GoneFacts,
  type RecordedEnd,
  type RecordedLife,
  whyGone,
} from '../../../../src/agent/policies/why/why-gone.ts';

const AT = Date.UTC(2030, 0, 1, 10);
const nowMs = AT + 242_000;
const POD = { namespace: 'shop', name: 'web' };

function event(reason: string, message: string, second: number, uid = 'u-1') {
  return {
    metadata: {},
    involvedObject: { uid },
    reason,
    message,
    lastTimestamp: new Date(AT + second * 1000).toISOString(),
  };
}

const LIFE: RecordedLife = {
  ...POD,
  uid: 'u-1',
  origin: 'api',
  state: 'Terminated.Finished',
  sinceMs: AT + 3000,
  end: undefined,
};
const END: RecordedEnd = {
  ...{ cause: 'Unwanted', toldMs: AT, endedMs: AT + 2000 },
  ...{ phase: '', reason: '', message: '' },
};

function gone(
  end: Partial<RecordedEnd> | undefined,
  more: Partial<RecordedLife> = {},
  facts: Partial<GoneFacts> = {},
) {
  const life = { ...LIFE, ...more, end: end && { ...END, ...end } };
  return whyGone({ ...POD, events: [], nowMs, recorded: { life, choice: undefined }, ...facts });
}
const said = (...args: Parameters<typeof gone>) => gone(...args)?.sentences.join(' ');

describe('a pod that has gone', () => {
  test('is described by the event that ended it and the last one where nothing is recorded', () => {
    const events = [
      event('Preempting', 'Preempted in order to admit critical pod', 1),
      event('Killing', 'Stopping container app', 2),
    ];
    expect(whyGone({ ...POD, events, nowMs })?.sentences).toEqual([
      'shop/web is not on this node any more.',
      'The last events about it: Preempting at 10:00:01Z (4m1s ago): Preempted in order to admit critical pod; ' +
        'Killing at 10:00:02Z (4m ago): Stopping container app.',
    ]);
    expect(whyGone({ ...POD, events: [], nowMs })).toBeUndefined();
  });

  test('says when it ended, for whom, how it was chosen, and whether it comes back', () => {
    const choice = {
      preemptor: 'kube-system/dns',
      missing: 'cpu=300m',
      how: 'missing cpu=300m; among 4 candidates: shop/web (Burstable, priority 0, distance 0)',
      order: ['shop/web'],
    };
    const end = { ...END, cause: 'Preempted', reason: 'Preempting', message: 'for a critical pod' } as const;
    expect(whyGone({ ...POD, events: [], nowMs, recorded: { life: { ...LIFE, end }, choice } })).toEqual({
      subject: 'shop/web',
      state: 'Gone',
      since: '2030-01-01T10:00:03.000Z',
      end: {
        cause: 'Preempted',
        toldAt: '2030-01-01T10:00:00.000Z',
        endedAt: '2030-01-01T10:00:02.000Z',
        reason: 'Preempting',
        message: 'for a critical pod',
        choice,
      },
      sentences: [
        'shop/web ended at 10:00:02Z (4m ago): preempted for kube-system/dns, which lacked cpu=300m.',
        'How it was chosen: missing cpu=300m; among 4 candidates: shop/web (Burstable, priority 0, distance 0).',
        'It does not come back: the API server does not have it any more; a controller of the cluster may make another pod in its place.',
      ],
    });
  });

  test.each<[Partial<RecordedEnd>, string]>([
    [{}, 'its source does not have it any more'],
    [{ cause: 'DeletedAtServer' }, 'it was deleted at the API server'],
    [{ cause: 'Completed' }, 'all its containers have ended'],
    [{ cause: 'AgentEnded' }, 'the agent ended its pods before it stopped'],
    [{ cause: 'Killed' }, 'it was told to end; by whom was not recorded'],
    [{ cause: 'Rejected', reason: 'OutOfcpu', message: 'too much. ' }, 'OutOfcpu: too much'],
    [{ cause: 'Evicted', reason: 'Evicted', message: 'low on memory.' }, 'Evicted: low on memory'],
  ])('says by whom %j', (end, text) => {
    expect(said(end, { origin: 'static' })).toBe(
      `shop/web ended at 10:00:02Z (4m ago): ${text}. It does not come back: its source does not have it any more.`,
    );
  });

  test('says its final phase, where that is recorded', () => {
    const end = { cause: 'Completed', phase: 'Succeeded' } as const;
    expect(gone(end)).toMatchObject({
      end,
      sentences: [
        'shop/web ended at 10:00:02Z (4m ago), phase Succeeded: all its containers have ended.',
        expect.anything(),
      ],
    });
    expect(gone({})?.end).not.toHaveProperty('phase');
  });

  test('takes from an event what the record does not say, and nothing that contradicts it', () => {
    const events = [event('DeadlineExceeded', 'Pod was active too long', 1), event('Killing', 'Stopping', 2)];
    expect(said({ cause: 'Completed' }, {}, { events })).toMatch(
      /: DeadlineExceeded: Pod was active too long\. /,
    );
    const evicted = { cause: 'Evicted', reason: 'Evicted', message: 'low' } as const;
    expect(said(evicted, {}, { events })).toMatch(/: Evicted: low\. /);
  });

  test('is not described by the record of an earlier pod of its name where events are about a later one', () => {
    const events = [event('Killing', 'Stopping', 60, 'u-2')];
    expect(said({}, {}, { events })).toMatch(
      /^shop\/web is not on this node any more\. .*Killing at 10:01:00Z/,
    );
    expect(said({}, {}, { events: [event('Killing', 'Stopping', -60, 'u-0')] })).toMatch(/^shop\/web ended /);
  });

  test('whose end is not recorded says what is', () => {
    expect(said(undefined, { state: 'Syncing.Settled' })).toBe(
      'shop/web is not on this node any more; its last record, of 10:00:03Z (3m59s ago): ' +
        'it is as its spec says. Its end is not recorded.',
    );
  });
});

describe('a pod of an agent that does not run', () => {
  const recordEndMs = AT + 62_000;
  const beginning = 'No daemon runs; this is from its record, which ends at 10:01:02Z (3m ago). ';

  test('that had not been told to end has its last state, and what happens next', () => {
    const why = gone(undefined, { state: 'Syncing.Settled' }, { recordEndMs });
    expect(why).toMatchObject({ state: 'Syncing.Settled', since: '2030-01-01T10:00:03.000Z' });
    expect(why?.sentences.join(' ')).toBe(
      `${beginning}shop/web had not been told to end; its last record, of 10:00:03Z (3m59s ago): ` +
        'it is as its spec says. Its containers may still run: the next agent goes on with them.',
    );
  });

  test('that had not ended says so', () => {
    expect(said({ endedMs: undefined }, { origin: 'local' }, { recordEndMs })).toBe(
      `${beginning}shop/web was told to end at 10:00:00Z (4m2s ago): its source does not have it any more. ` +
        'It had not ended when the record ends: some of its containers may run, and the next agent ends them. ' +
        'It does not come back: its source does not have it any more.',
    );
  });

  test.each<[Partial<RecordedEnd>, RecordedLife['origin'], string]>([
    [{ cause: 'Evicted' }, 'static', 'It comes back when its manifest changes.'],
    [
      { cause: 'Evicted' },
      'local',
      'It does not come back until its manifest changes: it is not a static pod.',
    ],
    [{ cause: 'Deleted' }, 'local', 'It comes back when its manifest changes.'],
    [{ cause: 'Killed' }, 'static', 'Whether it comes back was not recorded.'],
    [{ cause: 'AgentEnded' }, 'static', 'The next agent starts it again, if its source still has it.'],
    [
      { cause: 'DeletedAtServer' },
      'api',
      'It does not come back: the API server does not have it any more; a controller of the cluster may make another pod in its place.',
    ],
    [
      { cause: 'Completed' },
      'api',
      'It does not come back: a controller of the cluster may make another pod in its place.',
    ],
  ])('that has ended by %j says whether it comes back: %s', (end, origin, text) => {
    expect(gone(end, { origin }, { recordEndMs })?.sentences.at(-1)).toBe(text);
  });
});
