import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runtimeClassesOf } from '../../../../src/agent/policies/cri/sandbox-config.ts';
import { idSpace } from '../../../../src/agent/policies/security/id-mappings.ts';
import { criNode, type CriNodeOptions } from '../../../../src/agent/runtime/node/cri-node.ts';
import type { PodNode } from '../../../../src/agent/runtime/node/pod-node.ts';
import { UserNamespaces } from '../../../../src/agent/runtime/node/user-namespace-ranges.ts';
import { RuntimeCapabilities } from '../../../../src/agent/runtime/service/runtime-capabilities.ts';
import { testPod } from '../../../support/pods.ts';

let podLogsDir: string;

beforeEach(async () => {
  podLogsDir = await mkdtemp(join(tmpdir(), 'statelet-pod-details-'));
});
afterEach(() => rm(podLogsDir, { recursive: true, force: true }));

/** Only with what a sandbox needs. */
function details(runtimeClasses: readonly string[], more: Partial<CriNodeOptions> = {}): PodNode {
  const options: Partial<CriNodeOptions> = {
    podLogsDir,
    containers: {} as CriNodeOptions['containers'],
    runtimeClasses: { ...runtimeClassesOf(runtimeClasses), areOfCluster: true },
    dns: { of: () => Promise.resolve(undefined) } as never,
    cgroups: { parentOf: () => undefined } as never,
    volumes: { groupsOf: () => [4321] } as never,
    ...more,
  };
  return criNode(options as CriNodeOptions);
}

const pod = { ...testPod(), spec: { ...testPod().spec, runtimeClassName: 'gvisor' } };

test('a sandbox has the handler of the pod’s RuntimeClass', async () => {
  const { runtimeHandler } = await details(['gvisor=runsc']).sandbox(pod, 0, true);
  expect(runtimeHandler).toBe('runsc');
});

test('a new sandbox fails without the RuntimeClass; containers of an existing one can still be started', async () => {
  await expect(details([]).sandbox(pod, 1, true)).rejects.toThrow(
    /^runtimeclass\.node\.k8s\.io "gvisor" not found$/,
  );
  const { config } = await details([]).sandbox(pod, 0, false);
  expect(config.metadata).toMatchObject({ name: 'web', attempt: 0 });
});

test('the groups of the volumes are groups of the sandbox', async () => {
  const { config } = await details(['gvisor=runsc']).sandbox(pod, 0, true);
  expect(config.linux?.securityContext?.supplementalGroups).toEqual([4321]);
});

test('a pod with users of its own has ids of the node where the handler of its RuntimeClass can map them', async () => {
  const capabilities = new RuntimeCapabilities({ version: () => Promise.reject(new Error('not asked')) });
  const handler = (name: string, userNamespaces: boolean) => ({
    name,
    features: { userNamespaces, recursiveReadOnlyMounts: false },
  });
  capabilities.learn({ conditions: [], handlers: [handler('runsc', true), handler('kata', false)] });
  const { uid } = pod.metadata;
  await mkdir(join(podLogsDir, 'pods', uid), { recursive: true });
  const own = { ...pod, spec: { ...pod.spec, hostUsers: false } };
  const sandbox = async (runtimeHandler: string) => {
    const users = new UserNamespaces(podLogsDir, idSpace(131_072, 110));
    return details([`gvisor=${runtimeHandler}`], { capabilities, users }).sandbox(own, 0, true);
  };
  const usersOf = async () =>
    (await sandbox('runsc')).config.linux?.securityContext?.namespaceOptions.usernsOptions;
  const users = await usersOf();
  expect(users).toMatchObject({ mode: 'POD', uids: [{ containerId: 0, length: 131_072 }] });
  expect(JSON.parse(await readFile(join(podLogsDir, 'pods', uid, 'userns'), 'utf8'))).toEqual({
    uidMappings: users?.uids,
    gidMappings: users?.gids,
  });
  expect(await usersOf()).toEqual(users);
  await expect(sandbox('kata')).rejects.toThrow(
    'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces',
  );
});
