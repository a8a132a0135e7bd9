/** What the record of an agent says of the end of its pods, when the agent has gone. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyGone } from '../../src/agent/policies/why/why-gone.ts';
import type { Why } from '../../src/agent/policies/why/why-pod.ts';
import { recordOfPod } from '../../src/recorder/recorded-end.ts';
import { simulatedNodeFacts } from '../../src/simulation/node/simulated-node-facts.ts';
import type { PodSpec } from '../../src/types/kubernetes.ts';
import { recordOfAgent, replayed } from './replay/support.ts';
import { container, podSpec, SimulatedAgent } from '../support/simulated-agent.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-end-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function job(mark: string, more: Partial<PodSpec> = {}): PodSpec {
  return podSpec({ containers: [container('main', mark)], restartPolicy: 'Never', ...more });
}

test.each<[string, PodSpec, object, RegExp]>([
  [
    'past its deadline',
    job('run', { activeDeadlineSeconds: 10 }),
    { cause: 'DeadlineExceeded', phase: 'Failed', reason: 'DeadlineExceeded' },
    /, phase Failed: DeadlineExceeded: Pod was active on the node longer than the specified deadline\.$/u,
  ],
  [
    'whose container has failed',
    job('run exit-after=5s code=1'),
    { cause: 'Completed', phase: 'Failed', failed: [{ name: 'main', exitCode: 1, reason: 'Error' }] },
    /, phase Failed: container main ended with exit code 1 \(Error\)\.$/u,
  ],
  [
    'whose container is done',
    job('run exit-after=5s'),
    { cause: 'Completed', phase: 'Succeeded' },
    /, phase Succeeded: all its containers have ended\.$/u,
  ],
])('a pod %s says so', async (_, spec, end, sentence) => {
  const agent = new SimulatedAgent();
  const record = recordOfAgent(agent);
  const uid = agent.create('job', spec);
  await agent.untilState(uid, 'Terminated.Finished');
  const why = await whyOfGone(agent, 'job', record());
  expect(why?.end).toMatchObject(end);
  expect(why?.sentences[1]).toMatch(sentence);
});

test('a pod that was preempted says for whom, in which order, and who was not chosen', async () => {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu: '4', memory: '4Gi', pods: '100' });
  const record = recordOfAgent(agent);
  const wanting = (cpu: string, more: Partial<PodSpec> = {}) =>
    podSpec({ containers: [container('main', 'run', { resources: { requests: { cpu } } })], ...more });
  const [big, small] = [agent.create('big', wanting('2')), agent.create('small', wanting('1'))];
  for (const uid of [big, small]) await agent.untilState(uid, 'Syncing.Settled');
  agent.create('dns', wanting('3', { priority: 2_000_000_000 }));
  await agent.untilState(big, 'Terminated.Finished');
  expect(agent.state(small)).toBe('Syncing.Settled');
  const why = await whyOfGone(agent, 'big', record());
  expect(why?.end).toMatchObject({
    ...{ cause: 'Preempted', phase: 'Failed' },
    choice: { preemptor: 'default/dns', order: ['default/big'], notChosen: ['default/small'] },
  });
  expect(why?.sentences).toContain(
    'How it was chosen: missing cpu=2000m; in this order: default/big (Burstable, priority 0, distance 0); ' +
      'not chosen: default/small.',
  );
});

async function whyOfGone(agent: SimulatedAgent, name: string, record: string): Promise<Why | undefined> {
  expect(replayed(record)).toMatchObject({ differences: [], notReplayed: {} });
  const path = join(folder, '000001.jsonl');
  const nowMs = agent.clock.now();
  writeFileSync(path, record);
  utimesSync(path, nowMs / 1000, nowMs / 1000);
  const pod = { namespace: 'default', name };
  const recorded = await recordOfPod(folder, pod);
  return whyGone({ ...pod, events: [], recorded, recordEndMs: nowMs, nowMs });
}
