/** Requests by chance to the kubelet and to the daemon, which serve the same static pod one after the other. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Agent, AgentOptions } from '../../../../scripts/compare/agent.ts';
import { startKubelet } from '../../../../scripts/compare/kubelet.ts';
import { startStatelet } from '../../../../scripts/compare/statelet.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { mountsBelow } from '../../../support/containerd/wipe.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { freePort } from '../../../support/free-port.ts';
import { findKubelet, NO_KUBELET } from '../../../support/kubernetes-programs.ts';
import { answerOf, KNOWN_ODD_REQUESTS, oddRequest } from '../../../support/odd-requests.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { SERVE } from '../../../support/cri-daemon.ts';

const SEED = 15;
const REQUESTS = 300;
const OPEN = {
  address: '127.0.0.1',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
};

const kubelet = findKubelet();
if (kubelet === undefined)
  process.stderr.write(`\nSKIPPED, NOTHING PROVED: odd requests need a kubelet: ${NO_KUBELET}\n`);
const testWithKubelet = kubelet === undefined ? test.skip : test;

describeOnContainerd('requests that no good client sends', ({ containerd, openBed }) => {
  const random = seededRandom(SEED);
  const requests = [...KNOWN_ODD_REQUESTS, ...Array.from({ length: REQUESTS }, () => oddRequest(random))];

  testWithKubelet(`have the kubelet's answers (${REQUESTS} by chance, seed ${SEED})`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'statelet-odd-requests-'));
    try {
      const kubelets = await answers(dir, 'kubelet', (options) => startKubelet(kubelet ?? '', options));
      const own = await answers(dir, 'statelet', startStatelet);
      const asked = requests.map((request, index) => ({ request, answer: kubelets[index] }));
      expect(requests.map((request, index) => ({ request, answer: own[index] }))).toEqual(asked);
    } finally {
      for (const mount of mountsBelow(dir)) execFileSync('umount', [mount]);
      rmSync(dir, { recursive: true, force: true });
    }
  });

  async function answers(dir: string, name: string, start: (options: AgentOptions) => Promise<Agent>) {
    const manifests = join(dir, name, 'manifests');
    mkdirSync(manifests, { recursive: true });
    const containers = [{ name: 'app', image: containerd.image, imagePullPolicy: 'Never', command: SERVE }];
    const spec = { hostNetwork: true, terminationGracePeriodSeconds: 1, containers };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' }, spec };
    writeFileSync(join(manifests, 'web.json'), JSON.stringify(pod));
    const port = await freePort();
    const cgroupRoot = containerd.cgroupRoot.replace(/^\/+/u, '');
    const { endpoint } = containerd;
    const { runtime } = openBed();
    const agent = await start({
      dir: join(dir, name),
      manifests,
      cgroupRoot,
      endpoint,
      config: { ...OPEN, port },
    });
    try {
      const running = await waitFor(() => runningPod(agent), { what: `the pod of the ${name} to run` });
      const found: string[] = [];
      for (const request of requests) found.push(await answerOf({ port, ...running }, request));
      return found;
    } finally {
      await agent.stop();
      await emptyRuntime(runtime);
    }
  }
});

async function runningPod(agent: Agent): Promise<{ pod: string; uid: string } | undefined> {
  const [found] = (await agent.pods()) ?? [];
  if (!found?.status?.containerStatuses?.some(({ state }) => state?.running)) return undefined;
  return { pod: found.metadata.name, uid: found.metadata.uid };
}

/** What one agent has started must not be adopted by the other. */
async function emptyRuntime(runtime: RuntimeService): Promise<void> {
  for (const { id } of await runtime.listPodSandbox()) {
    await runtime.stopPodSandbox(id);
    await runtime.removePodSandbox(id);
  }
}
