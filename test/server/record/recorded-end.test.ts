/** What the record of an agent says of the end of its pods, when the agent has gone. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyGone } from '../../../src/policies/why/why-gone.ts';
import { recordedPod } from '../../../src/server/record/recorded-end.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { recordOfAgent, replayed } from '../../replay/support.ts';
import { container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

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
    { cause: 'Completed', phase: 'Failed' },
    /, phase Failed: all its containers have ended\.$/u,
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
  const lines = record();
  writeFileSync(join(folder, '000001.jsonl'), lines);
  const pod = { namespace: 'default', name: 'job' };
  const recorded = await recordedPod(folder, pod);
  const nowMs = agent.clock.now();
  const why = whyGone({ ...pod, events: [], recorded, recordEndMs: nowMs, nowMs });
  expect(why?.end).toMatchObject(end);
  expect(why?.sentences[1]).toMatch(sentence);
  expect(replayed(lines)).toMatchObject({ differences: [], notReplayed: {} });
});
