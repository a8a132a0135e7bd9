import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filter, map, type Observable } from 'rxjs';
import { createProcessRuntime } from '../../../src/embedded/process-runtime.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import { DaemonBed } from '../daemon.ts';
import { processesOf } from '../processes-of.ts';
import { MonitorProxy } from '../monitor-proxy.ts';
import type { PodSurroundings } from './pods.ts';
import type { Stage } from './stage.ts';
import { type Turn, Witness } from './witness.ts';

const CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // Short, so that a test sees crashed containers restart.
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
};

/** A stage on the embedded runtime. */
export async function embeddedStage(): Promise<Stage> {
  const bed = new DaemonBed();
  const [config, journal] = [join(bed.dir, 'config.json'), join(bed.dir, 'journal')];
  writeFileSync(config, JSON.stringify(CONFIG));
  writeFileSync(journal, '');
  // A daemon starts the monitor. It stays as long as it has a connection.
  const first = await bed.runWithoutPods();
  const proxy = await new MonitorProxy(bed.rootDir).start();
  const runtime = createProcessRuntime({ rootDir: proxy.bypassDir });
  const witness = new Witness(turnsOf(runtime), proxy.made);
  await runtime.listContainers();
  await first.end();
  const surroundings: PodSurroundings = {
    shell: (script, fields) => ({ name: 'main', command: ['sh', '-c', script], ...fields }),
    image: (revision) => `revision:${String(revision)}`,
    journal,
    fields: {},
  };
  return {
    bed,
    surroundings,
    tap: proxy,
    runtime,
    witness,
    launch: () => bed.launch(['--pod-manifest-path', bed.manifestDir, '--config', config]),
    leftovers: async () => [...(await bed.leftBehind()), ...processesOfPods(bed.dir)],
    close: async () => {
      witness.stop();
      await runtime.close();
      proxy.stop();
      await bed.cleanUp();
    },
  };
}

function turnsOf(runtime: RuntimeService): Observable<Turn> {
  return runtime.containerEvents().pipe(
    map(({ containerId: id, containerEventType: type }) => ({ id, type })),
    filter(({ type }) => type === 'CONTAINER_STARTED_EVENT' || type === 'CONTAINER_STOPPED_EVENT'),
    map(({ id, type }) => ({ id, starts: type === 'CONTAINER_STARTED_EVENT' })),
  );
}

function processesOfPods(dir: string): string[] {
  const texts = processesOf(dir).map(({ text }) => text);
  return texts.filter((text) => !text.startsWith('statelet-monitor') && !text.includes('statelet.js run'));
}
