import { expect, test } from '@jest/globals';
import { generateAPIPodStatus, withShortMessages } from '../../../../src/agent/policies/status/pod-status.ts';
import type { Container, ContainerStatus, PodStatus } from '../../../../src/types/kubernetes.ts';
import { containerOf, factsOf, instance, podOf, SANDBOX } from '../../../support/pod-status-facts.ts';

const named = (count: number, prefix: string): Container[] =>
  Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}` }));

function ended(message: string, lastMessage?: string): ContainerStatus {
  return {
    name: 'c0',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 1, message } },
    ...(lastMessage !== undefined && { lastState: { terminated: { exitCode: 1, message: lastMessage } } }),
  };
}

/** The message of a container after the cut, in a pod with that number of containers. */
function left(message: string, counts: { regular: number; init?: number; ephemeral?: number }): string {
  const pod = podOf({
    containers: named(counts.regular, 'c'),
    initContainers: named(counts.init ?? 0, 'i'),
    ephemeralContainers: named(counts.ephemeral ?? 0, 'e'),
  });
  const { containerStatuses } = withShortMessages(pod, { containerStatuses: [ended(message)] });
  return containerStatuses?.[0]?.state?.terminated?.message ?? '';
}

test('all containers of the pod, of every kind, have equal shares of 12 KiB, in whole bytes', () => {
  const long = 'x'.repeat(20_000);
  expect(left(long, { regular: 1 })).toHaveLength(12_288);
  expect(left(long, { regular: 3, init: 2 })).toHaveLength(2_457);
  expect(left(long, { regular: 3, init: 2, ephemeral: 2 })).toHaveLength(1_755);
  expect(left('short', { regular: 10 })).toBe('short');
});

test('a character that is cut becomes a replacement character', () => {
  expect(left('€'.repeat(1_000), { regular: 5 })).toBe('€'.repeat(819));
  expect(left(`x${'€'.repeat(1_000)}`, { regular: 5 })).toBe(`x${'€'.repeat(818)}\uFFFD`);
  // A message that fits is not changed, whatever it begins with.
  expect(left(`\uFEFF${'y'.repeat(2_454)}`, { regular: 5 })).toBe(`\uFEFF${'y'.repeat(2_454)}`);
  expect(left(`\uFEFF${'y'.repeat(2_455)}`, { regular: 5 })).toBe(`\uFEFF${'y'.repeat(2_454)}`);
});

test('the message of the earlier instance is cut too, for containers of all kinds', () => {
  const long = 'x'.repeat(20_000);
  const status: PodStatus = {
    phase: 'Failed',
    message: long,
    containerStatuses: [ended('', long)],
    initContainerStatuses: [ended(long)],
    ephemeralContainerStatuses: [ended(long)],
  };
  const short = withShortMessages(podOf(), status);
  expect(short.containerStatuses?.[0]?.lastState?.terminated?.message).toHaveLength(12_288);
  expect(short.initContainerStatuses?.[0]?.state?.terminated?.message).toHaveLength(12_288);
  expect(short.ephemeralContainerStatuses?.[0]?.state?.terminated?.message).toHaveLength(12_288);
  // The message of the pod is not cut.
  expect(short.message).toBe(long);
});

test('the reported status of a pod has messages that are cut', () => {
  const pod = podOf({ containers: [...named(3, 'c'), { name: 'app' }], restartPolicy: 'Never' });
  const containers = [instance('app', 'exited', { exitCode: 1, message: 'x'.repeat(4_096) })];
  const status = generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX], containers }));
  expect(containerOf(status, 'app')?.state?.terminated?.message).toHaveLength(3_072);
});
