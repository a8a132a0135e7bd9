import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { POD_UID_LABEL } from '../../../../src/agent/policies/cri/cri-labels.ts';
import type { PodCgroups } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { PodOOMKills } from '../../../../src/agent/runtime/cgroups/pod-oom-kills.ts';
import type { ContainerStatus } from '../../../../src/types/cri.ts';
import { openCgroups, PlainCgroups } from './cgroup-bed.ts';

const GROUP = 'v2/kubepods/burstable/podp';

let plain: PlainCgroups;
let cgroups: PodCgroups;
beforeEach(async () => {
  plain = new PlainCgroups();
  plain.mountV2('cpu memory');
  cgroups = await openCgroups({ mountinfoFile: plain.mountinfoFile });
  mkdirSync(plain.path(GROUP), { recursive: true });
  count(0);
});
afterEach(() => plain.remove());

const count = (kills: number) =>
  writeFileSync(plain.path(GROUP, 'memory.events'), `low 0\noom 9\noom_kill ${kills}\n`);
const opened = () => new PodOOMKills((uid) => cgroups.oomKills(uid));
const ended = (id: string, exitCode = 137, reason = 'Error'): ContainerStatus => ({
  id,
  podSandboxId: 's',
  metadata: { name: id, attempt: 0 },
  state: 'CONTAINER_EXITED',
  createdAt: 1,
  startedAt: 1,
  finishedAt: 1,
  exitCode,
  image: '',
  imageRef: '',
  reason,
  message: '',
  labels: { [POD_UID_LABEL]: 'p' },
  annotations: {},
  logPath: '',
});

test("a container that was killed while the count of its pod's group grew is OOMKilled, and stays so when the group is gone", () => {
  const kills = opened();
  kills.look('p');
  count(2);
  expect(kills.named(ended('a')).reason).toBe('OOMKilled');
  rmSync(plain.path(GROUP), { recursive: true });
  expect(kills.named(ended('a')).reason).toBe('OOMKilled');
});

test('a container that was killed for another reason is not OOMKilled, also when another container of the pod is out of memory later', () => {
  const kills = opened();
  kills.look('p');
  expect(kills.named(ended('a')).reason).toBe('Error');
  count(1);
  expect(kills.named(ended('b')).reason).toBe('OOMKilled');
  expect(kills.named(ended('a')).reason).toBe('Error');
});

test('a kill that the runtime has reported explains no other container', () => {
  const kills = opened();
  kills.look('p');
  count(1);
  expect(kills.named(ended('a', 137, 'OOMKilled')).reason).toBe('OOMKilled');
  expect(kills.named(ended('b')).reason).toBe('Error');
});

test('kills from before the start of the agent explain nothing, and neither does a count if a container has ended by itself', () => {
  count(3);
  const kills = opened();
  expect(kills.named(ended('a')).reason).toBe('Error');
  count(4);
  expect(kills.named(ended('b', 1)).reason).toBe('Error');
});
