import { status } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { callError } from '../../../src/runtime/cri/calls/call-errors.ts';
import { imageBed } from './image-bed.ts';

test('what a runtime answers to a pull is passed on as gRPC says it, with its code', async () => {
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

test('the code that says nothing is left out', async () => {
  const details = 'failed to pull and unpack image "app:1": no route to host';
  const answer = callError('PullImage', 'unix:///run/x.sock', { code: status.UNKNOWN, details });
  const { ensure, events, runtime } = imageBed();
  runtime.pullImage = () => Promise.reject(answer);
  await expect(ensure('a', {})).rejects.toMatchObject({ message: details, kind: 'Unknown' });
  expect(events).toContain(`a: Warning Failed Failed to pull image "app:1": ${details}`);
});

test('each event names the container', async () => {
  const { add, containers, ensure, events, runtime } = imageBed();
  add('app:1');
  await ensure('a', {});
  runtime.pullImage = () => Promise.reject(new Error('no'));
  const missing = { image: 'app:2' };
  for (const container of [
    missing,
    missing,
    { image: 'UPPER//' },
    { ...missing, imagePullPolicy: 'Never' },
  ]) {
    await expect(ensure('a', container)).rejects.toThrow();
  }
  const reasons = events.map((event) => event.split(' ')[2]);
  expect(new Set(reasons)).toEqual(
    new Set(['Pulled', 'Pulling', 'Failed', 'BackOff', 'InspectFailed', 'ErrImageNeverPull']),
  );
  expect(new Set(containers)).toEqual(new Set(['main']));
});

test('where the runtime does not answer a pull, the advice what to do stays', async () => {
  const details = 'connect ENOENT';
  const answer = callError('PullImage', 'unix:///run/x.sock', { code: status.UNAVAILABLE, details });
  const { ensure, runtime } = imageBed();
  runtime.pullImage = () => Promise.reject(answer);
  await expect(ensure('a', {})).rejects.toMatchObject({ message: answer.message });
});
