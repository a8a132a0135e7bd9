import { beforeEach, describe, expect, test } from '@jest/globals';
import { POD_UID_LABEL } from '../../src/policies/cri/cri-labels.ts';
import type { RuntimeService } from '../../src/runtime/service/runtime-service.ts';
import { simulatedGround } from '../paths/ground.ts';
import { containerConfig, podConfig } from './runtime-configs.ts';
import { type Call, SteeredNode } from './steered-runtime.ts';

let node: SteeredNode;
let runtime: RuntimeService;
let witnessed: string[];

beforeEach(() => {
  witnessed = [];
  const note = (what: string) => (call: Call) => void witnessed.push(`${call.method} ${what}`);
  node = new SteeredNode(simulatedGround().open(), { begun: note('begun'), ended: note('ended') });
  ({ runtime } = node.parts);
});

const isVersion = ({ method }: Call) => method === 'version';

describe('a steered node', () => {
  test('leads calls on, and tells of them', async () => {
    expect(await runtime.version()).toMatchObject({ runtimeName: 'simulated' });
    expect(witnessed).toEqual(['version begun', 'version ended']);
  });

  test('holds the next such call until it is let go, and no other', async () => {
    const held = node.hold(isVersion);
    const version = runtime.version();
    expect(held.hasArrived).toBe(true);
    await runtime.version();
    expect(witnessed).toEqual(['version begun', 'version begun', 'version ended']);
    held.letGo();
    expect(await version).toMatchObject({ runtimeName: 'simulated' });
  });

  test('makes a call fail', async () => {
    node.fail(isVersion);
    await expect(runtime.version()).rejects.toThrow('the test makes this call fail');
    await runtime.version();
  });

  test('gives a call up whose signal has aborted while it was held', async () => {
    const controller = new AbortController();
    const held = node.hold(isVersion);
    const version = runtime.version({ signal: controller.signal });
    controller.abort();
    held.letGo();
    await expect(version).rejects.toThrow('aborted');
  });

  test('answers a deaf call all the same', async () => {
    node.deaf = isVersion;
    const held = node.hold(isVersion);
    const version = runtime.version({ signal: AbortSignal.abort() });
    held.letGo();
    expect(await version).toMatchObject({ runtimeName: 'simulated' });
  });

  test('knows of which pod a call is', async () => {
    const sandbox = podConfig('/nowhere');
    const { uid } = sandbox.metadata;
    const id = await runtime.runPodSandbox(sandbox);
    const container = await runtime.createContainer(id, containerConfig(['run']), sandbox);
    await runtime.startContainer(container);
    await runtime.listContainers({ labelSelector: { [POD_UID_LABEL]: uid } });
    await runtime.version();
    expect(node.calls.map((call) => call.uid)).toEqual([uid, uid, uid, uid, '']);
    expect([node.hasSeen(uid), node.hasSeen('other')]).toEqual([true, false]);
  });

  test('tells of nothing that happens', () => {
    const events: unknown[] = [];
    const subscription = runtime.containerEvents().subscribe((event) => events.push(event));
    expect([subscription.closed, events]).toEqual([false, []]);
  });
});
