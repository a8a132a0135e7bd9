import { expect, test } from '@jest/globals';
import { oomKills, systemOOMMessage, systemOOMs } from '../../../../src/agent/policies/node/system-oom.ts';

const KILL = (atUs: number, where: string, task: string) =>
  `6,1001,${atUs},-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,${where},task_memcg=/user.slice,task=${task},pid=4711,uid=1000`;

const LOG = [
  '6,1000,100,-;veth5c6b510e: entered blocking state',
  KILL(200, 'global_oom', 'early'),
  ' SUBSYSTEM=memory',
  KILL(300, 'oom_memcg=/kubepods/burstable/pod1', 'limited'),
  KILL(400, 'global_oom', 'tmux: server, 1'),
  '3,1002,401,-;Out of memory: Killed process 4711 (tmux)',
  '',
].join('\n');

test('only kills for want of memory of the whole machine count, and only those after the given time', () => {
  expect(systemOOMs(LOG, 200)).toEqual([{ processName: 'tmux: server, 1', pid: 4711, atUs: 400 }]);
  expect(systemOOMs(LOG, 0).map(({ processName }) => processName)).toEqual(['early', 'tmux: server, 1']);
  expect(systemOOMs('', 0)).toEqual([]);
});

test("the event's message is the kubelet's", () => {
  expect(systemOOMMessage({ processName: 'stress', pid: 42 })).toBe(
    'System OOM encountered, victim process: stress, pid: 42',
  );
});

test('the count of kills is read from /proc/vmstat', () => {
  expect(oomKills('pgfault 1\noom_kill 139\noom_kill_other 7\n')).toBe(139);
  expect(oomKills('pgfault 1\n')).toBeUndefined();
});
