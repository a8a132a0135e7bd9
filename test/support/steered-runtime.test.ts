import { beforeEach, describe, expect, test } from '@jest/globals';
import { POD_UID_LABEL } from '../../src/agent/policies/cri/cri-labels.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import { simulatedPathNode } from '../paths/path-node.ts';
import { containerConfig, podConfig } from './runtime-configs.ts';
import { type Call, SteeredNode } from './steered-runtime.ts';

let node: SteeredNode;
let runtime: RuntimeService;
let witnessed: string[];

beforeEach(() => {
  witnessed = [];
  const note = (what: string) => (call: Call) => void witnessed.push(`${call.method} ${what}`);
  node = new SteeredNode(simulatedPathNode().open(), { begun: note('begun'), ended: note('ended') });
  ({ runtime } = node.parts);
});

const isVersion = ({ method }: Call) => method === 'version';

describe('a steered node', () => {
  test('passes calls on, and reports them to its observer', async () => {
    expect(await runtime.version()).toMatchObject({ runtimeName: 'simulated' });
    expect(witnessed).toEqual(['version begun', 'version ended']);
  });

  test('holds the next such call, and no other, until it may proceed', async () => {
    const held = node.hold(isVersion);
    const version = runtime.version();
    expect(held.hasArrived).toBe(true);
    await runtime.version();
    expect(witnessed).toEqual(['version begun', 'version begun', 'version ended']);
    held.proceed();
    expect(await version).toMatchObject({ runtimeName: 'simulated' });
  });

  test('makes a call fail', async () => {
    node.fail(isVersion);
    await expect(runtime.version()).rejects.toThrow('the test makes this call fail');
    await runtime.version();
  });

  test('rejects a held call whose signal is aborted', async () => {
    const controller = new AbortController();
    const held = node.hold(isVersion);
    const version = runtime.version({ signal: controller.signal });
    controller.abort();
    held.proceed();
    await expect(version).rejects.toThrow('aborted');
  });

  test('answers a call that ignores its signal', async () => {
    node.deaf = isVersion;
    const held = node.hold(isVersion);
    const version = runtime.version({ signal: AbortSignal.abort() });
    held.proceed();
    expect(await version).toMatchObject({ runtimeName: 'simulated' });
  });

  test('knows the pod of a call', async () => {
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

  test('passes no events on', () => {
    const events: unknown[] = [];
    const subscription = runtime.containerEvents().subscribe((event) => events.push(event));
    expect([subscription.closed, events]).toEqual([false, []]);
  });
});
