import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import '../../../support/built.ts';
import { installPackages } from '../../../support/containerd/packages.ts';
import { reportFromKernel, userModeLinuxSuite } from '../../../support/user-mode-linux.ts';

/** What is known of the pod, whose container has ended once in the first life. */
interface Life {
  readonly uid: string;
  readonly startTime: string;
  readonly container: {
    readonly containerID: string;
    readonly restartCount: number;
    readonly lastState: { readonly terminated: { readonly containerID: string } };
  };
}

userModeLinuxSuite('a static pod whose machine loses its power', () => {
  let disk: string;
  let first: Life;
  let second: Life;

  beforeAll(async () => {
    await installPackages();
    disk = mkdtempSync('/var/tmp/statelet-reboot-');
    const boot = () =>
      reportFromKernel(new URL('reboot-program.ts', import.meta.url), { memoryMiB: 600, disk });
    first = (await boot()) as Life;
    second = (await boot()) as Life;
  });

  afterAll(() => rmSync(disk, { recursive: true, force: true }));

  test('runs again after the boot, as the same pod', () => {
    expect(second).toMatchObject({ uid: first.uid, startTime: first.startTime });
    expect(second.container).toMatchObject({ ready: true, state: { running: {} } });
    expect(second.container.containerID).not.toBe(first.container.containerID);
  });

  test('goes on to count the restarts of its container, and shows how the one before the boot has ended', () => {
    expect(first.container).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 3 } } });
    expect(second.container.restartCount).toBe(2);
    const { containerID } = first.container;
    expect(second.container.lastState.terminated).toMatchObject({
      containerID,
      exitCode: 255,
      reason: 'Unknown',
    });
  });
});
