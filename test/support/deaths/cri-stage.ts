import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Observable } from 'rxjs';
import { Channel } from '../../../src/agent/runtime/cri/calls/channel.ts';
import type { Method } from '../../../src/system/grpc/method.ts';
import { bytes, field, list, message, string } from '../../../src/system/protobuf.ts';
import { type ContainerdBed, startContainerd } from '../containerd/containerd.ts';
import { busyboxImage } from '../containerd/images.ts';
import { CriDaemonBed } from '../cri-daemon.ts';
import { CriProxy } from '../cri-proxy.ts';
import { processesOf } from '../processes-of.ts';
import { LAST_REVISION, type PodSurroundings } from './pods.ts';
import type { Stage } from './stage.ts';
import { type Turn, Witness } from './witness.ts';

const image = (revision: number) => `statelet.test/revision-${String(revision)}:1`;
const revisions = Array.from({ length: LAST_REVISION + 1 }, (_, revision) => revision);

/** Starts a containerd with the images of the pods. */
export function containerdForDeaths(): Promise<ContainerdBed> {
  return startContainerd({ images: revisions.map((revision) => busyboxImage(image(revision))) });
}

/** A stage on containerd. Several stages use one containerd, one after another. */
export async function criStage(containerd: ContainerdBed): Promise<Stage> {
  // Short, so that a test sees crashed containers restart.
  const config = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } };
  const bed = new CriDaemonBed(containerd, { config });
  const notesDir = join(bed.dir, 'notes');
  const journal = join(notesDir, 'journal');
  mkdirSync(notesDir);
  writeFileSync(journal, '');
  const proxy = await new CriProxy(containerd.endpoint).start();
  const witness = new Witness(turnsOf(containerd.endpoint), proxy.made);
  const volumes = [
    { name: 'notes', hostPath: { path: notesDir } },
    { name: 'scratch', emptyDir: { medium: 'Memory' } },
  ];
  const volumeMounts = [
    { name: 'notes', mountPath: notesDir },
    { name: 'scratch', mountPath: '/scratch' },
  ];
  const surroundings: PodSurroundings = {
    shell: (script, fields) => bed.shell(script, { volumeMounts, ...fields }),
    fields: { hostNetwork: true, volumes },
    image,
    journal,
  };
  const flags = ['--pod-manifest-path', bed.manifestDir, '--container-runtime-endpoint', proxy.endpoint];
  return {
    bed,
    surroundings,
    tap: proxy,
    runtime: bed.runtime,
    witness,
    launch: () => bed.launch(flags),
    leftovers: async () => [
      ...(await bed.leftBehind()),
      ...processesOf(notesDir).map(({ text }) => text),
      ...addressesInUse(containerd.dir),
    ],
    close: async () => {
      witness.stop();
      await bed.cleanUp();
      proxy.stop();
    },
  };
}

/** The folder in which CNI's plugin stores the addresses, in a folder with the name of the network. */
function addressesInUse(containerdDir: string): string[] {
  const dir = join(containerdDir, 'ipam');
  if (!existsSync(dir)) return [];
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /\/\d+\.\d+\.\d+\.\d+$/.test(file));
}

const START = '/tasks/start';
const EXIT = '/tasks/exit';
const NAMESPACE = 'k8s.io';

const startOfTask = message<{ containerId: string }>({ containerId: field(1, string) });
/** For the main process of a container both IDs are equal. */
const exitOfTask = message<{ containerId: string; id: string }>({
  containerId: field(1, string),
  id: field(2, string),
});

interface Envelope {
  readonly topic: string;
  readonly event?: { readonly value: Buffer };
}

/** containerd's own events. Its CRI plugin receives the ends of containers from the same stream. */
const SUBSCRIBE: Method<{ filters: readonly string[] }, Envelope> = {
  name: 'Subscribe',
  path: '/containerd.services.events.v1.Events/Subscribe',
  request: message<{ filters: readonly string[] }>({ filters: list(1, string) }),
  response: message<Envelope>({
    topic: field(3, string),
    event: field(4, message<{ value: Buffer }>({ value: field(2, bytes) })),
  }),
};

function turnsOf(endpoint: string): Observable<Turn> {
  return new Observable((subscriber) => {
    const channel = new Channel(endpoint);
    const filters = [START, EXIT].map((topic) => `namespace==${NAMESPACE},topic=="${topic}"`);
    const stop = new AbortController();
    const headers = { 'containerd-namespace': NAMESPACE };
    const onAnswer = ({ topic, event }: Envelope) => {
      const value = event?.value ?? Buffer.alloc(0);
      if (topic === START) subscriber.next({ id: startOfTask.decode(value).containerId, starts: true });
      if (topic !== EXIT) return;
      const { containerId, id } = exitOfTask.decode(value);
      if (id === containerId) subscriber.next({ id, starts: false });
    };
    channel
      .listen(SUBSCRIBE, { filters }, { signal: stop.signal, headers, onAnswer })
      .catch((error: unknown) => {
        if (!subscriber.closed) subscriber.error(error);
      });
    return () => {
      stop.abort();
      channel.close();
    };
  });
}
