import { expect, test } from '@jest/globals';
import { imageText, startText } from '../../../../src/agent/policies/cri/found-runtimes.ts';

const NONE = { socket: '/run/crio/crio.sock' };
const CONTAINERD = {
  socket: '/run/containerd/containerd.sock',
  found: { name: 'containerd', version: '1.7.24' },
};
const CRIO = { socket: '/run/crio/crio.sock', found: { name: 'cri-o', version: '1.30.0' } };
const HUNG = { socket: '/run/crio/crio.sock', found: { problem: 'no answer within 1 s' } };
const CHOICE = '--container-runtime-endpoint=unix:///run/containerd/containerd.sock';

test('at the start a runtime that answers is named, with the flag that chooses it; plain processes go on', () => {
  expect(startText([CONTAINERD, NONE])).toBe(
    'Pods run as plain processes (--container-runtime-endpoint=embedded); containerd 1.7.24 answers at ' +
      `/run/containerd/containerd.sock: ${CHOICE} runs images with it`,
  );
});

test('at the start there is no message where there is no socket', () => {
  expect(startText([{ socket: '/run/containerd/containerd.sock' }, NONE])).toBeUndefined();
});

test('a runtime that cannot be used is named with the reason, and offered by no flag', () => {
  expect(startText([HUNG])).toBe(
    'Pods run as plain processes (--container-runtime-endpoint=embedded); /run/crio/crio.sock cannot be used (no answer within 1 s)',
  );
  expect(imageText([CONTAINERD, HUNG])).toContain(
    `(no answer within 1 s); start statelet with ${CHOICE} (see`,
  );
});

test('of two runtimes neither is chosen', () => {
  expect(imageText([CONTAINERD, CRIO])).toBe(
    'images need a container runtime: containerd 1.7.24 answers at /run/containerd/containerd.sock, cri-o 1.30.0 answers at ' +
      `/run/crio/crio.sock; start statelet with ${CHOICE} or --container-runtime-endpoint=unix:///run/crio/crio.sock (see docs/nginx.md)`,
  );
});

test('the message for a container with an image on a machine without runtimes has the searched sockets, and the guide', () => {
  expect(imageText([{ socket: '/run/containerd/containerd.sock' }, NONE])).toBe(
    'images need a container runtime: there is no /run/containerd/containerd.sock, there is no /run/crio/crio.sock; docs/nginx.md says how to get one',
  );
});
