import { status } from '@grpc/grpc-js';
import { describe, expect, test } from '@jest/globals';
import { callError } from '../../../../src/agent/runtime/cri/calls/channel.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { imageBed, refusal } from './image-bed.ts';

const HOUR_MS = 3_600_000;

describe('credentials', () => {
  const user = (username: string) => ({ username, password: 'p' });

  test('matching credentials are tried until one works: first those of the pod, then those of the node', async () => {
    const bed = imageBed({
      keyring: { lookup: ({ domain }) => Promise.resolve([user(`node at ${domain}`), user('spare')]) },
      pullSecrets: {
        read: ({ metadata: { uid } }) =>
          Promise.resolve([
            { hostPattern: 'quay.io', port: '', pathPrefix: '', auth: user(`secret of ${uid}`) },
            { hostPattern: 'gcr.io', port: '', pathPrefix: '', auth: user('elsewhere') },
          ]),
      },
    });
    const asking = bed.ensure('pod', { image: 'quay.io/app:1' });
    await settled();
    bed.pulls[0]?.fail('denied');
    await settled();
    bed.pulls[1]?.succeed();
    expect(await asking).toEqual({ imageRef: 'id of quay.io/app:1' });
    expect(bed.pulls.map(({ auth }) => auth?.username)).toEqual(['secret of pod', 'node at quay.io']);
  });

  test('if no credential works, the message has all errors', async () => {
    const bed = imageBed({ keyring: { lookup: () => Promise.resolve([user('a'), user('b')]) } });
    const asking = refusal(bed.ensure('pod', {}));
    await settled();
    bed.pulls[0]?.fail('denied');
    await settled();
    bed.pulls[1]?.fail('expired');
    expect(await asking).toMatchObject({ reason: 'ErrImagePull', message: '[denied, expired]' });
    expect(bed.pulls).toHaveLength(2);
  });

  test('without credentials the image is pulled anonymously', async () => {
    const bed = imageBed();
    const asking = bed.ensure('pod', {});
    await settled();
    bed.pulls[0]?.succeed();
    await asking;
    expect(bed.pulls[0]?.auth).toBeUndefined();
  });
});

test('a pull that takes an hour is aborted with ErrImagePull, and the next pull begins', async () => {
  const bed = imageBed();
  const slow = expect(bed.ensure('slow', {})).rejects.toMatchObject({
    reason: 'ErrImagePull',
    kind: 'DeadlineExceeded',
    message: expect.stringContaining('the image was not pulled within 60 minutes'),
  });
  const next = bed.ensure('next', { image: 'b:1' });
  await settled();
  await bed.clock.advance(HOUR_MS - 1);
  expect(bed.pulls.map(({ isAborted }) => isAborted())).toEqual([false]);
  await bed.clock.advance(1);
  await slow;
  await settled();
  expect(bed.pulls.map(({ image, isAborted }) => [image, isAborted()])).toEqual([
    ['app:1', true],
    ['b:1', false],
  ]);
  bed.pulls[1]?.succeed();
  await next;
  expect(bed.clock.armed).toBe(0);
});

test('the error of a pull has the message of the runtime with the gRPC code, as the kubelet shows it', async () => {
  const details = 'failed to pull and unpack image "app:1": app:1: not found';
  const answer = callError('PullImage', 'unix:///run/x.sock', { code: status.NOT_FOUND, details });
  const { ensure, events, runtime } = imageBed();
  runtime.pullImage = () => Promise.reject(answer);
  const said = `rpc error: code = NotFound desc = ${details}`;
  await expect(ensure('a', {})).rejects.toMatchObject({
    reason: 'ErrImagePull',
    message: said,
    kind: 'NotFound',
  });
  expect(events).toContain(`a: Warning Failed Failed to pull image "app:1": ${said}`);
  await expect(ensure('a', {})).rejects.toMatchObject({
    reason: 'ImagePullBackOff',
    message: `Back-off pulling image "app:1": ErrImagePull: ${said}`,
  });
});

test('the code Unknown is left out', async () => {
  const details = 'failed to pull and unpack image "app:1": no route to host';
  const answer = callError('PullImage', 'unix:///run/x.sock', { code: status.UNKNOWN, details });
  const { ensure, events, runtime } = imageBed();
  runtime.pullImage = () => Promise.reject(answer);
  await expect(ensure('a', {})).rejects.toMatchObject({ message: details, kind: 'Unknown' });
  expect(events).toContain(`a: Warning Failed Failed to pull image "app:1": ${details}`);
});

test('if the runtime does not answer a pull, the message still has the advice', async () => {
  const details = 'connect ENOENT';
  const answer = callError('PullImage', 'unix:///run/x.sock', { code: status.UNAVAILABLE, details });
  const { ensure, runtime } = imageBed();
  runtime.pullImage = () => Promise.reject(answer);
  await expect(ensure('a', {})).rejects.toMatchObject({ message: answer.message });
});
