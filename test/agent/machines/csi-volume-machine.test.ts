import { expect, test } from '@jest/globals';
import { type AnyActorRef, createActor, fromPromise } from 'xstate';
import { type CsiVolumeContext, csiVolumeMachine } from '../../../src/agent/machines/csi-volume-machine.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

const WISH = {
  type: 'WANTED',
  pod: 'one',
  source: {} as never,
  isAttachable: false,
  group: undefined,
} as const;

/** Its steps fail as long as `failing` says. */
function volume() {
  const clock = new VirtualClock();
  const failing = { stage: true, unstage: true };
  const asked: string[] = [];
  const step = (what: 'stage' | 'unstage') =>
    fromPromise<number, CsiVolumeContext>(() => {
      asked.push(what);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as requests of a machine fail
      return failing[what] ? Promise.reject({ problem: 'busy', now: clock.now() }) : Promise.resolve(1);
    });
  const machine = csiVolumeMachine.provide({
    actors: {
      attach: fromPromise<{ publishContext: Record<string, string>; now: number }, CsiVolumeContext>(() =>
        Promise.resolve({ publishContext: {}, now: clock.now() }),
      ),
      stage: step('stage'),
      unstage: step('unstage'),
    },
    actions: { reportProblem: () => undefined, forget: () => undefined },
  });
  const input = { driver: 'disk.csi.test', handle: 'vol-1', pods: [], now: 0 };
  const actor = createActor(machine, { input, clock }).start();
  return { clock, failing, asked, actor };
}

type Volume = ReturnType<typeof volume>;
const stateOf = ({ actor }: Volume) => actor.getSnapshot().value;
const send = ({ actor }: Volume, event: object) => (actor as AnyActorRef).send({ now: 0, ...event });

async function failsToStage(it: Volume): Promise<void> {
  send(it, WISH);
  await it.clock.advance(0);
  expect(stateOf(it)).toBe('Failed');
}

test('how often it could not be staged does not delay how soon it is unstaged again', async () => {
  const it = volume();
  for (let times = 0; times < 8; times++) await failsToStage(it);
  send(it, { type: 'LEFT', pod: 'one' });
  await it.clock.advance(0);
  expect(stateOf(it)).toBe('UnstageFailed');
  it.failing.unstage = false;
  await it.clock.advance(500);
  expect(stateOf(it)).toBe('Gone');
});

test('a pod that wants it in between begins the back-off of unstaging anew', async () => {
  const it = volume();
  send(it, WISH);
  send(it, { type: 'LEFT', pod: 'one' });
  await it.clock.advance(60_000);
  const before = it.asked.length;
  await failsToStage(it);
  send(it, { type: 'LEFT', pod: 'one' });
  await it.clock.advance(500);
  expect(it.asked.slice(before)).toEqual(['stage', 'unstage', 'unstage']);
});

test('what its driver could not give up it is asked for as soon as it registers again', async () => {
  const it = volume();
  send(it, WISH);
  send(it, { type: 'LEFT', pod: 'one' });
  await it.clock.advance(60_000);
  expect(stateOf(it)).toBe('UnstageFailed');
  it.failing.unstage = false;
  send(it, { type: 'DRIVER_REGISTERED' });
  await it.clock.advance(0);
  expect(stateOf(it)).toBe('Gone');
});
