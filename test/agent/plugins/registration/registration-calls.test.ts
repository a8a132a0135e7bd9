import { expect, test } from '@jest/globals';
import { askForInfo, tellStatus } from '../../../../src/agent/plugins/registration/registration-calls.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { FakeRegistration } from '../../../support/fake-registration.ts';

const clock = new VirtualClock();
const never = new AbortController().signal;

test('a plugin has ten seconds to say what it is', async () => {
  const plugin = new FakeRegistration();
  const asked = askForInfo(plugin.open(), { clock, signal: never });
  await clock.advance(9_999);
  plugin.answer();
  expect((await asked).name).toBe('rss');
  expect(clock.armed).toBe(0);
});

test('after that the call is aborted, with an error that says so', async () => {
  const plugin = new FakeRegistration();
  const asked = expect(askForInfo(plugin.open(), { clock, signal: never })).rejects.toMatchObject({
    kind: 'DeadlineExceeded',
    message: 'GetInfo: no answer within 10s',
  });
  await clock.advance(10_000);
  await asked;
  expect(plugin.pending).toBe(0);
});

test('a plugin gets the answer that it is registered, or why it is not, and has five seconds', async () => {
  const plugin = new FakeRegistration();
  const told = [tellStatus(plugin.open(), undefined, { clock, signal: never })];
  plugin.hear();
  told.push(tellStatus(plugin.open(), 'wrong', { clock, signal: never }));
  plugin.hear();
  await Promise.all(told);
  expect(plugin.told).toEqual([
    { registered: true, error: '' },
    { registered: false, error: 'RegisterPlugin error -- wrong' },
  ]);
  const late = expect(tellStatus(plugin.open(), undefined, { clock, signal: never })).rejects.toThrow(
    'NotifyRegistrationStatus: no answer within 5s',
  );
  await clock.advance(5_000);
  await late;
});

test('a call that is aborted ends at once, and leaves no timer', async () => {
  const stop = new AbortController();
  const asked = askForInfo(new FakeRegistration().open(), { clock, signal: stop.signal });
  stop.abort(new Error('over'));
  await expect(asked).rejects.toThrow('over');
  expect(clock.armed).toBe(0);
});
