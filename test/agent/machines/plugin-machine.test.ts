import { describe, expect, test } from '@jest/globals';
import { pluginMachine, type PluginEvent } from '../../../src/agent/machines/plugin-machine.ts';
import { after } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const NOW = 1000;
const ACCEPTED: PluginEvent = { type: 'ACCEPTED', name: 'rss' };
const REFUSED: PluginEvent = { type: 'REFUSED', name: 'rss', problem: 'wrong version' };
const NOT_ANSWERED: PluginEvent = { type: 'NOT_ANSWERED', problem: 'connection refused' };
const TOLD: PluginEvent = { type: 'TOLD', now: NOW + 1 };
const NOT_TOLD: PluginEvent = { type: 'NOT_TOLD', problem: 'unimplemented', now: NOW + 1 };
const RETRY = after('retry', 'plugin.Registering.BackingOff');
const ANSWERED: PluginEvent = { type: 'ANSWERED', now: NOW + 9 };
const failed = (problem: string, now = NOW + 2): PluginEvent => ({ type: 'FAILED', problem, now });
const GONE: PluginEvent = { type: 'SOCKET_GONE', now: NOW + 5 };
const REPLACED: PluginEvent = { type: 'REPLACED', by: '/new.sock', now: NOW + 5 };

const asking = () => new Stepper(pluginMachine, { origin: '/rss.sock', now: NOW });
const accepting = () => asking().send(ACCEPTED);
const refusing = () => asking().send(REFUSED);
const backingOff = () => asking().send(NOT_ANSWERED);
const serving = () => accepting().send(TOLD);
const failing = () => serving().send(failed('timeout'));

describe('Registering', () => {
  test('begins with the question what the plugin is', () => {
    const it = asking();
    expect([it.state, it.asked, it.hasTag('asked')]).toEqual(['Registering.Asking', ['askPlugin'], false]);
    expect(it.context).toEqual({
      origin: '/rss.sock',
      name: undefined,
      since: NOW,
      problem: undefined,
      failures: 0,
    });
  });

  test('a plugin that is accepted gets the answer before it is asked for pods', () => {
    const it = accepting();
    expect([it.state, it.asked, it.hasTag('asked')]).toEqual([
      'Registering.Accepting',
      ['tellAccepted'],
      false,
    ]);
    expect(it.context.name).toBe('rss');
  });

  test('a plugin that got the answer serves from then on', () => {
    const it = serving();
    expect([it.state, it.asked]).toEqual(['Serving', ['endCall', 'serve', 'reportServing']]);
    expect(it.context).toMatchObject({ since: NOW + 1, problem: undefined, failures: 0 });
    expect(it.hasTag('asked')).toBe(true);
  });

  test('a plugin that the answer did not reach serves too', () => {
    const it = accepting().send(NOT_TOLD);
    expect([it.state, it.asked]).toEqual(['Serving', ['endCall', 'reportUntold', 'serve', 'reportServing']]);
    expect(it.context.problem).toBeUndefined();
  });

  test('a plugin that is refused gets the reason', () => {
    const it = refusing();
    expect([it.state, it.asked]).toEqual(['Registering.Refusing', ['reportProblem', 'tellRefused']]);
    expect(it.context).toMatchObject({ name: 'rss', problem: 'wrong version', failures: 1, since: NOW });
  });

  test.each([
    ['told', TOLD, []],
    ['not told', NOT_TOLD, ['reportUntold']],
  ] as const)('after it was %s why, it is asked again later', (_, event, reports) => {
    const it = refusing().send(event);
    expect([it.state, it.asked]).toEqual(['Registering.BackingOff', [...reports, 'endCall']]);
    expect(it.context).toMatchObject({ problem: 'wrong version', failures: 1 });
  });

  test('a plugin that does not answer is asked again later', () => {
    const it = backingOff();
    expect([it.state, it.asked]).toEqual(['Registering.BackingOff', ['reportProblem', 'endCall']]);
    expect(it.context).toMatchObject({ problem: 'connection refused', failures: 1 });
  });

  test('each try in vain is counted, and the time of the first one stays', () => {
    const it = backingOff().send(RETRY);
    expect([it.state, it.asked]).toEqual(['Registering.Asking', ['askPlugin']]);
    it.send(REFUSED, TOLD, RETRY, NOT_ANSWERED);
    expect(it.context).toMatchObject({ problem: 'connection refused', failures: 3, since: NOW });
    expect(it.send(RETRY, ACCEPTED, TOLD).context).toMatchObject({ problem: undefined, failures: 0 });
  });

  test('questions are not counted', () => {
    for (const it of [asking(), accepting(), refusing(), backingOff()]) {
      const { state, context } = it;
      it.send(failed('late'), ANSWERED);
      expect([it.state, it.context]).toEqual([state, context]);
    }
  });
});

describe('Serving and Failing', () => {
  test('an answer changes nothing', () => {
    const it = serving().send(ANSWERED);
    expect([it.state, it.asked, it.context.since]).toEqual(['Serving', [], NOW + 1]);
  });

  test('the first question without an answer makes it fail, since then', () => {
    const it = failing();
    expect([it.state, it.asked, it.hasTag('asked')]).toEqual(['Failing', ['reportFailing'], true]);
    expect(it.context).toMatchObject({ since: NOW + 2, problem: 'timeout', failures: 1 });
  });

  test('further ones are counted, the latest problem is kept, and nothing is reported', () => {
    const it = failing().send(failed('nonsense', NOW + 3));
    expect([it.state, it.asked]).toEqual(['Failing', []]);
    expect(it.context).toMatchObject({ since: NOW + 2, problem: 'nonsense', failures: 2 });
  });

  test('with an answer it serves again, since then', () => {
    const it = failing().send(ANSWERED);
    expect([it.state, it.asked]).toEqual(['Serving', ['reportRecovery']]);
    expect(it.context).toMatchObject({ since: NOW + 9, problem: undefined, failures: 0 });
  });
});

describe('Gone', () => {
  const everywhere = [asking, accepting, refusing, backingOff, serving, failing];

  test('without its socket a plugin is gone, in every state', () => {
    for (const make of everywhere) {
      const it = make().send(GONE);
      expect([it.state, it.hasTag('asked')]).toEqual(['Gone', false]);
      expect(it.asked).toEqual(expect.arrayContaining(['reportGone', 'release']));
      expect(it.context).toMatchObject({ since: NOW + 5, problem: 'its socket is gone' });
    }
  });

  test('a plugin that another one replaced is gone, in every state', () => {
    for (const make of everywhere)
      expect(make().send(REPLACED).context.problem).toBe('replaced by the plugin at /new.sock');
  });

  test('a registration under way ends, and no timer stays armed', () => {
    for (const make of [asking, accepting, refusing]) expect(make().send(GONE).asked).toContain('endCall');
    expect(backingOff().send(GONE).asked).toEqual(expect.arrayContaining(['endCall', 'release']));
  });

  test('nothing comes after it', () => {
    const it = serving().send(GONE);
    it.send(ANSWERED, failed('late'), REPLACED);
    expect([it.state, it.context.since]).toEqual(['Gone', NOW + 5]);
  });
});

test('a stop ends each state, and the call that is under way', () => {
  for (const make of [asking, accepting, refusing, backingOff]) {
    const it = make().send({ type: 'STOP' });
    expect([it.state, it.asked]).toEqual(['Stopped', ['endCall']]);
  }
  expect(serving().send({ type: 'STOP' }).state).toBe('Stopped');
});
