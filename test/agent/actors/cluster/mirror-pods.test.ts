import { beforeEach, describe, expect, test } from '@jest/globals';
import { MirrorPods } from '../../../../src/agent/actors/cluster/mirror-pods.ts';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Node, Pod } from '../../../../src/types/kubernetes.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import { testPod } from '../../../support/pods.ts';
import { noAnswer, refusal, ScriptedApi } from '../../../support/answering-api.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const NODE: Node = { metadata: { name: 'node-1', uid: 'node-uid' } };
const CREATE = 'create /default/pods';
const DELETE = 'delete /default/pods/web';
const NEVER = () => false;

let api: ScriptedApi;
let clock: VirtualClock;
let desired: DesiredPods;
let deleted: Set<string>;
let node: Node | undefined;
let warnings: string[];
let mirrors: MirrorPods;

beforeEach(() => {
  api = new ScriptedApi();
  clock = new VirtualClock();
  desired = new DesiredPods();
  node = NODE;
  warnings = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => void warnings.push(message) };
  deleted = new Set();
  mirrors = new MirrorPods(testContext({ clock, logger }), {
    ...{ api, desired, deleted, nodeName: 'node-1', node: () => node },
  });
});

function staticPod(uid: string): Pod {
  return testPod({
    name: 'web',
    uid,
    annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file', [CONFIG_HASH_ANNOTATION]: uid },
  });
}

function mirrorPod(hash: string, uid = `mirror-of-${hash}`, deleted = false): Pod {
  const annotations = { [CONFIG_SOURCE_ANNOTATION]: 'api', [CONFIG_MIRROR_ANNOTATION]: hash };
  return testPod({ name: 'web', uid, deleted, annotations });
}

/** The sources want these pods. */
function want(...pods: readonly Pod[]): void {
  desired.clear();
  for (const pod of pods) desired.set(pod);
}

async function sync(pod: Pod): Promise<string[]> {
  mirrors.reconcile(pod);
  await clock.advance(0);
  return api.taken();
}

async function cleanUp(isTerminating: (fullName: string) => boolean = NEVER): Promise<string[]> {
  mirrors.deleteOrphans(isTerminating);
  await clock.advance(0);
  return api.taken();
}

const first = staticPod('v1');
const second = staticPod('v2');

describe('the mirror pod of a static pod', () => {
  test('is created at a sync, and not again once it is in the watch', async () => {
    want(first);
    mirrors.reconcile(first);
    await clock.advance(0);
    expect(api.requests[0]?.body).toMatchObject({
      metadata: {
        annotations: { [CONFIG_MIRROR_ANNOTATION]: 'v1' },
        ownerReferences: [{ kind: 'Node', uid: 'node-uid' }],
      },
    });
    expect(api.taken()).toEqual([CREATE]);
    want(first, mirrorPod('v1'));
    expect(await sync(first)).toEqual([]);
  });

  test('is created once the node is known, without another sync', async () => {
    node = undefined;
    want(first);
    expect(await sync(first)).toEqual([]);
    node = NODE;
    mirrors.reconcileAll();
    await clock.advance(0);
    expect(api.taken()).toEqual([CREATE]);
  });

  test('is deleted by its UID and created again in the same sync, if it is of another version or being deleted', async () => {
    for (const stale of [mirrorPod('v0'), mirrorPod('v1', 'mirror', true)]) {
      want(first, stale);
      mirrors.reconcile(first);
      await clock.advance(0);
      expect(api.requests[0]?.options).toEqual({ gracePeriodSeconds: 0, uid: stale.metadata.uid });
      expect(api.taken()).toEqual([DELETE, CREATE]);
    }
  });

  test('is created at once if the old one is gone already', async () => {
    want(first, mirrorPod('v0'));
    api.answer = ({ verb }) => {
      if (verb === 'delete') throw refusal('NotFound');
    };
    expect([await sync(first), warnings]).toEqual([[DELETE, CREATE], []]);
  });

  test('is not created while another pod has its name', async () => {
    want(first, mirrorPod('v0'));
    api.answer = ({ verb }) => {
      if (verb === 'delete') throw refusal('Conflict');
    };
    expect([await sync(first), warnings]).toEqual([[DELETE], []]);
    want(first);
    expect(await sync(first)).toEqual([CREATE]);
  });

  test('is made if the old one is seen to be gone while it is being deleted', async () => {
    want(first, mirrorPod('v1', 'mirror', true));
    const answer = Promise.withResolvers<undefined>();
    api.answer = ({ verb }) => (verb === 'delete' ? answer.promise : {});
    mirrors.reconcile(first);
    want(first);
    mirrors.reconcile(first);
    answer.reject(refusal('Conflict'));
    await clock.advance(0);
    expect(api.taken()).toEqual([DELETE, CREATE]);
  });

  test('may exist already, for example because the answer was lost', async () => {
    want(first);
    api.answer = () => {
      throw refusal('AlreadyExists');
    };
    expect([await sync(first), warnings, clock.armed]).toEqual([[CREATE], [], 0]);
  });

  test('that exists already, and turns out meanwhile to be of an earlier life, is replaced', async () => {
    want(first);
    const answer = Promise.withResolvers<undefined>();
    api.answer = () => answer.promise;
    mirrors.reconcile(first);
    want(first, mirrorPod('v1'));
    desired.outlive('v1');
    mirrors.reconcileAgain('web_default');
    answer.reject(refusal('AlreadyExists'));
    api.answer = () => undefined;
    await clock.advance(0);
    expect(api.taken()).toEqual([CREATE, DELETE, CREATE]);
  });

  test('of an earlier life is deleted also while the static pod waits to be started, unless it shows how that life ended', async () => {
    want(first, mirrorPod('v1'));
    expect(await cleanUp()).toEqual([]);
    desired.outlive('v1');
    expect(await cleanUp(() => true)).toEqual([DELETE]);
    want(first, { ...mirrorPod('v1'), status: { phase: 'Failed' } });
    desired.outlive('v1');
    expect(await cleanUp()).toEqual([]);
  });

  test('is created once, however many syncs come while the request is in flight', async () => {
    want(first);
    const answer = Promise.withResolvers<undefined>();
    api.answer = () => answer.promise;
    for (let i = 0; i < 3; i += 1) mirrors.reconcile(first);
    answer.resolve(undefined);
    await clock.advance(60_000);
    expect(api.taken()).toEqual([CREATE]);
  });

  test('is created again if a new version of the static pod is synced while the request is in flight', async () => {
    want(first);
    const answer = Promise.withResolvers<undefined>();
    api.answer = () => answer.promise;
    mirrors.reconcile(first);
    want(second, mirrorPod('v1'));
    mirrors.reconcile(second);
    answer.resolve(undefined);
    await clock.advance(0);
    expect(api.taken()).toEqual([CREATE, DELETE, CREATE]);
  });
});

describe('a server that does not answer', () => {
  beforeEach(() => {
    api.answer = () => {
      throw noAnswer();
    };
  });

  test('gets the request again after ten seconds, not at each sync; the problem is logged once', async () => {
    want(first);
    expect(await sync(first)).toEqual([CREATE]);
    expect(await sync(first)).toEqual([]);
    await clock.advance(30_000);
    expect(api.taken()).toEqual([CREATE, CREATE, CREATE]);
    expect(warnings).toEqual([expect.stringContaining('web_default')]);
    api.answer = () => ({});
    await clock.advance(100_000);
    expect([api.taken(), clock.armed]).toEqual([[CREATE], 0]);
  });

  test('gets no further request for a static pod that is not wanted any more', async () => {
    want(first);
    await sync(first);
    want();
    await clock.advance(100_000);
    expect(api.taken()).toEqual([]);
  });

  test('gets no request to create a mirror pod again before the old one is deleted', async () => {
    want(first, mirrorPod('v0'));
    expect(await sync(first)).toEqual([DELETE]);
  });
});

test('a request that the server refuses is tried again at the next sync', async () => {
  want(first);
  api.answer = () => {
    throw refusal('Forbidden');
  };
  expect(await sync(first)).toEqual([CREATE]);
  await clock.advance(100_000);
  expect(api.taken()).toEqual([]);
  expect(await sync(first)).toEqual([CREATE]);
  expect(warnings).toHaveLength(1);
});

describe('the mirror pod of a static pod that a person has deleted', () => {
  beforeEach(() => {
    want(first, mirrorPod('v1'));
    deleted.add('v1');
  });

  test('shows the end of its static pod, and is then deleted', async () => {
    expect(await cleanUp(() => true)).toEqual([]);
    expect(await cleanUp()).toEqual([DELETE]);
  });

  test('is not made again by a sync that is still under way', async () => {
    want(first);
    expect(await sync(first)).toEqual([]);
  });

  test('is created again when the static pod starts again', async () => {
    await cleanUp();
    want(first);
    deleted.clear();
    expect(await sync(first)).toEqual([CREATE]);
  });
});

describe('an orphaned mirror pod', () => {
  beforeEach(() => want(mirrorPod('v1')));

  test('is deleted once, with its UID, however often it is cleaned up before it is seen to be gone', async () => {
    mirrors.deleteOrphans(NEVER);
    await clock.advance(0);
    expect(api.requests[0]?.options).toEqual({ gracePeriodSeconds: 0, uid: 'mirror-of-v1' });
    expect(api.taken()).toEqual([DELETE]);
    expect(await cleanUp()).toEqual([]);
    want(mirrorPod('v1', 'another'));
    expect(await cleanUp()).toEqual([DELETE]);
  });

  test('stays while its static pod is terminating', async () => {
    expect(await cleanUp((fullName) => fullName === 'web_default')).toEqual([]);
    expect(await cleanUp()).toEqual([DELETE]);
  });

  test('does not exist while one of two static pods with its name is wanted', async () => {
    want(first, second, mirrorPod('v1'));
    desired.delete(second);
    expect(await cleanUp()).toEqual([]);
  });

  test.each([
    ['the server does not answer', noAnswer()],
    ['the server refuses', refusal('Forbidden')],
  ])('is tried again every ten seconds if it cannot be deleted: %s', async (_, error) => {
    api.answer = () => {
      throw error;
    };
    expect(await cleanUp()).toEqual([DELETE]);
    expect(await cleanUp()).toEqual([]);
    await clock.advance(10_000);
    expect(await cleanUp()).toEqual([DELETE]);
  });
});

test('a static pod that comes back while its orphaned mirror pod is being deleted gets another one', async () => {
  const orphan = mirrorPod('v1');
  want(orphan);
  const answer = Promise.withResolvers<undefined>();
  api.answer = ({ verb }) => (verb === 'delete' ? answer.promise : {});
  mirrors.deleteOrphans(NEVER);
  want(first);
  mirrors.reconcile(first);
  answer.resolve(undefined);
  await clock.advance(0);
  expect(api.taken()).toEqual([DELETE, CREATE]);
});

test('after the stop no request is sent, and no timer is set', async () => {
  want(first);
  api.answer = () => {
    throw noAnswer();
  };
  await sync(first);
  await mirrors.stop();
  expect([await sync(first), clock.armed]).toEqual([[], 0]);
});
