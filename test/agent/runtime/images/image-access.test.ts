/** Which pods may use an image that is present: the manager with its records. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RegistryCredentials } from '../../../../src/agent/policies/images/image-credentials.ts';
import { ImageRecords } from '../../../../src/agent/runtime/images/image-records.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import type { AuthConfig } from '../../../../src/types/cri.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { imageBed, type ImageBed, refusal } from './image-bed.ts';
import { testContext } from '../../../support/test-context.ts';

const IMAGE = 'quay.io/app:1';
const NEVER_PULL = { image: IMAGE, imagePullPolicy: 'Never' };

let rootDir: string;
let secrets: Map<string, RegistryCredentials>;
let nodeCredentials: AuthConfig[];
let looked: string[];
let bed: ImageBed;

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-access-'));
  secrets = new Map();
  nodeCredentials = [];
  looked = [];
  bed = imageBed({
    keyring: { lookup: () => Promise.resolve(nodeCredentials) },
    pullSecrets: {
      read: ({ metadata: { uid } }) => {
        looked.push(uid);
        const secret = secrets.get(uid);
        return Promise.resolve(secret ? [secret] : []);
      },
    },
    records: new ImageRecords(testContext(), { listImages: () => Promise.resolve([]) }, rootDir, {
      policy: 'NeverVerifyPreloadedImages',
      allowlist: [],
    }),
  });
});
afterEach(() => rmSync(rootDir, { recursive: true }));

/** The pod has a Secret of that name; Secrets with the same password have the same credentials. */
function give(uid: string, name: string, password: string): void {
  const secret = { uid: `uid of ${name}`, namespace: uid, name, credentialHash: password };
  const auth = { username: name, password };
  secrets.set(uid, { hostPattern: 'quay.io', port: '', pathPrefix: '', auth, source: { secret } });
}
const intents = () => readdirSync(join(rootDir, 'image_manager', 'pulling'));

/** Starts the pod's container, and resolves when its pull has begun. */
async function pulling(uid: string, container: object = { image: IMAGE }) {
  const before = bed.pulls.length;
  const done = bed.ensure(uid, container);
  done.catch(() => undefined);
  await waitFor(() => bed.pulls.length > before, { what: `the pull of ${uid}` });
  const pull = bed.pulls.at(-1);
  if (pull === undefined) throw new Error('no pull');
  return { pull, done };
}

test('the image of a Secret is not for a pod without it: the registry is asked, and its refusal counts', async () => {
  give('owner', 'good', 'right');
  const owner = await pulling('owner');
  expect(intents()).toHaveLength(1);
  owner.pull.succeed();
  await owner.done;
  expect(intents()).toEqual([]);

  const stranger = await pulling('stranger');
  expect(stranger.pull.auth).toBeUndefined();
  stranger.pull.fail('401 Unauthorized');
  expect(await refusal(stranger.done)).toMatchObject({ reason: 'ErrImagePull', message: '401 Unauthorized' });
  expect(intents()).toEqual([]);
  expect(bed.events.filter((text) => text.startsWith('stranger'))).toEqual([
    `stranger: Normal Pulling Pulling image "${IMAGE}"`,
    `stranger: Warning Failed Failed to pull image "${IMAGE}": 401 Unauthorized`,
    'stranger: Warning Failed Error: ErrImagePull',
  ]);
  expect(await refusal(bed.ensure('stranger', { image: IMAGE }))).toMatchObject({
    reason: 'ImagePullBackOff',
  });
});

test('with the policy Never the image counts as missing', async () => {
  give('owner', 'good', 'right');
  const owner = await pulling('owner');
  owner.pull.succeed();
  await owner.done;
  expect(await refusal(bed.ensure('stranger', NEVER_PULL))).toMatchObject({
    reason: 'ErrImageNeverPull',
    message: `Container image "${IMAGE}" is not present with pull policy of Never`,
  });
  give('friend', 'copy', 'right');
  expect(await bed.ensure('friend', NEVER_PULL)).toEqual({ imageRef: `id of ${IMAGE}` });
  expect(bed.pulls).toHaveLength(1);
});

test('a pod whose credentials the registry accepts uses the image from then on', async () => {
  give('owner', 'good', 'right');
  const owner = await pulling('owner');
  owner.pull.succeed();
  await owner.done;
  give('other', 'second', 'also right');
  const other = await pulling('other');
  expect(other.pull.auth?.username).toBe('second');
  other.pull.succeed();
  await other.done;
  await bed.ensure('other', NEVER_PULL);
  await bed.ensure('owner', NEVER_PULL);
  expect(bed.pulls).toHaveLength(2);
});

test('the image that was pulled with credentials of the node is for all pods, and their Secrets are not read', async () => {
  nodeCredentials = [{ username: 'node' }];
  const first = await pulling('first');
  first.pull.succeed();
  await first.done;
  looked = [];
  await bed.ensure('second', NEVER_PULL);
  expect(looked).toEqual([]);
});

test('credentials that were refused are not recorded, but those that came after them', async () => {
  give('pod', 'bad', 'wrong');
  nodeCredentials = [{ username: 'node' }];
  const first = await pulling('pod');
  first.pull.fail('401');
  await waitFor(() => bed.pulls.length === 2, { what: 'the second try' });
  bed.pulls[1]?.succeed();
  await first.done;
  await bed.ensure('stranger', NEVER_PULL);
});

test('pods that share a pull are recorded each with their own Secret', async () => {
  give('a', 'mine', 'right');
  give('b', 'mine', 'right');
  const first = await pulling('a');
  const second = bed.ensure('b', { image: IMAGE });
  const asks = () => bed.events.some((text) => text.startsWith('b: Normal Pulling'));
  await waitFor(asks, { what: 'the second pod to ask' });
  await settled();
  first.pull.succeed();
  await Promise.all([first.done, second]);
  expect(bed.pulls).toHaveLength(1);
  expect(intents()).toEqual([]);
});

test('a pull whose intent cannot be recorded does not begin', async () => {
  writeFileSync(join(rootDir, 'image_manager'), 'a file in place of the folder');
  expect(await refusal(bed.ensure('pod', { image: IMAGE }))).toMatchObject({
    reason: 'ErrImagePull',
    message: expect.stringContaining(
      `Failed to record image pull intent for container image "${IMAGE}": ENOTDIR`,
    ),
  });
  expect(bed.pulls).toEqual([]);
});
