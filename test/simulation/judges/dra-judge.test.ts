/** ResourceClaims that are used against the rules are reported. */
import { expect, test } from '@jest/globals';
import { DraJudge } from '../../../src/simulation/judges/dra-judge.ts';
import type { ContainerTruth } from '../../../src/simulation/runtime/witness.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { testPod } from '../../support/pods.ts';
import { container, sandbox } from './lifecycle-judge-bed.ts';

const CLAIM = 'claim-uid';
const POD = {
  ...testPod({ uid: 'uid' }),
  spec: { containers: [{ name: 'main', resources: { claims: [{ name: 'gpu' }] } }] },
};

function bed() {
  const violations: string[] = [];
  const disk: { checkpoint?: string } = {};
  const running: ContainerTruth[] = [];
  const judge = new DraJudge({
    checkpoint: () => disk.checkpoint,
    runtime: () => ({ uids: () => ['uid'], sandboxesOf: () => [sandbox(true, ...running)] }),
    onPrepared: () => undefined,
    violated: (uid, what) => violations.push(`${String(uid)}: ${what}`),
  });
  const main = container('c1', { uid: 'uid' });
  const configured = (...claims: string[]) => {
    const cdiDevices = claims.map((uid) => ({ name: `dra.example/gpu=${uid}` }));
    judge.configured(POD, { metadata: main.metadata, cdiDevices } as unknown as ContainerConfig);
  };
  return { judge, disk, running, main, configured, reported: () => violations.splice(0) };
}

test('a claim that is reserved, prepared, used and unprepared in turn is all right', () => {
  const { judge, disk, running, main, configured, reported } = bed();
  judge.reserved(CLAIM, 'uid');
  disk.checkpoint = `{"ClaimUID":"${CLAIM}"}`;
  judge.asked(CLAIM);
  judge.prepares(CLAIM);
  configured(CLAIM);
  running.push(main);
  judge.started(main, true);
  running.pop();
  judge.unprepares(CLAIM);
  expect(reported()).toEqual([]);
  expect(judge.leftover).toBe('the checkpoint still has a claim');
  disk.checkpoint = '{}';
  expect(judge.leftover).toBeUndefined();
});

test('a claim that is prepared unknown to the disk, and a container that is made without it, are reported', () => {
  const { judge, configured, reported } = bed();
  judge.asked(CLAIM);
  expect(reported()).toEqual([expect.stringContaining(`${CLAIM} is prepared before the disk says so`)]);
  configured();
  expect(reported()).toEqual(['uid: main is made without the devices of its claim']);
  judge.prepares(CLAIM);
  expect(judge.leftover).toBe(`${CLAIM} is still prepared`);
});

test('a container with a claim that is not reserved or not prepared is reported, unless no agent waited for its start', () => {
  const { judge, main, configured, reported } = bed();
  configured(CLAIM);
  judge.started(main, false);
  expect(reported()).toEqual([]);
  judge.started(main, true);
  expect(reported()).toEqual([
    `uid: main starts with ${CLAIM}, which is not reserved for its pod`,
    `uid: main starts with ${CLAIM}, which is not prepared`,
  ]);
});

test('a claim that is unprepared while a container uses it is reported', () => {
  const { judge, running, main, configured, reported } = bed();
  judge.reserved(CLAIM, 'uid');
  judge.prepares(CLAIM);
  configured(CLAIM);
  judge.started(main, true);
  running.push(main);
  judge.unprepares(CLAIM);
  expect(reported()).toEqual([`uid: ${CLAIM} is unprepared, and main uses it`]);
});
