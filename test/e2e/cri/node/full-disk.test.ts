/** The daemon on a disk that is full, with real containers. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, expect, test } from '@jest/globals';
import { mountSmallDisk, type SmallDisk } from '../../../support/as-root.ts';
import { containerStatus } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';

describeOnContainerd('on a full disk', ({ openBed, closeBeds }) => {
  let disk: SmallDisk;
  let place: string;

  afterEach(async () => {
    await closeBeds();
    disk.unmount();
    rmSync(place, { recursive: true });
  });

  test('the daemon starts, adopts running pods, removes unwanted pods, and begins to evict', async () => {
    place = mkdtempSync(join(tmpdir(), 'statelet-disk-'));
    disk = mountSmallDisk(place);
    const bed = openBed({ config: { evictionHard: { 'nodefs.available': '20%' } } });
    for (const [folder, path] of [
      ['root', bed.rootDir],
      ['log', dirname(bed.podLogsDir)],
    ] as const) {
      mkdirSync(join(disk.path, folder));
      symlinkSync(join(disk.path, folder), path);
    }
    bed.apply('stays', { containers: [bed.server()] });
    const volumes = [{ name: 'scratch', emptyDir: {} }];
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    bed.apply('goes', { containers: [bed.server({ volumeMounts })], volumes });
    const first = await bed.startToLeavePods();
    const [stays, goes] = [await first.running('stays'), await first.running('goes')];
    await first.end('SIGKILL');
    bed.withdraw('goes');
    disk.fill();

    const second = await bed.start();
    await second.onlyPods('stays');
    const again = await second.running('stays');
    expect(containerStatus(again)?.containerID).toBe(containerStatus(stays)?.containerID);
    const left = [bed.podLogs(goes.metadata), join(bed.rootDir, 'pods', goes.metadata.uid)];
    await waitFor(() => left.every((path) => !existsSync(path)), {
      what: 'logs and volumes of the other pod to be removed',
    });
    await second.logged('eviction to begin', ({ reason }) => reason === 'EvictionThresholdMet');
  });
});
