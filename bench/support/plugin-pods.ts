/** Pods as large as those of a cluster, and the manager of eviction plugins over them. */
import { type AnyStateMachine, createActor, createMachine, type InspectionEvent } from 'xstate';
import { Plugins } from '../../src/agent/actors/plugins/plugin-directory.ts';
import { PluginManager } from '../../src/agent/actors/plugins/plugin-manager.ts';
import type { PodKills } from '../../src/agent/actors/plugins/plugin-parts.ts';
import type { PodEntry, PodRegistry } from '../../src/agent/actors/pods/pod-registry.ts';
import { RemoteEvictionPlugin } from '../../src/agent/plugins/remote-eviction-plugin.ts';
import { registrationClient } from '../../src/agent/plugins/protocol/registration-client.ts';
import { systemClock } from '../../src/system/timer.ts';
import type { EvictionPluginSettings } from '../../src/types/node-settings.ts';
import type { Pod, PodStatus } from '../../src/types/kubernetes.ts';
import { silentLogger } from '../../test/support/silent-logger.ts';
import { PLUGIN_SETTINGS } from '../../test/support/eviction-plugins.ts';

const NODE = 'node-1';

/** With the usual fields of a deployment's pods: some 4 KiB as JSON. */
function clusterPod(index: number): Pod {
  const name = `service-${index % 40}-${(index * 7919).toString(36).padStart(9, '0')}-${index.toString(36)}`;
  return {
    metadata: {
      name,
      namespace: `team-${index % 12}`,
      uid: `${String(index).padStart(8, '0')}-1111-4222-8333-000000000000`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        app: `service-${index % 40}`,
        'pod-template-hash': (index * 31).toString(36),
        tier: 'backend',
      },
      annotations: { 'kubernetes.io/config.source': 'api', 'prometheus.io/scrape': 'true' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `service-${index % 40}`,
          uid: `rs-${index}`,
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: NODE,
      priority: index % 7,
      terminationGracePeriodSeconds: 30,
      serviceAccountName: 'default',
      containers: ['main', 'proxy'].map((container) => containerOf(container, index)),
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
      volumes: [
        { name: 'config', configMap: { name: `service-${index % 40}`, defaultMode: 420 } },
        { name: 'scratch', emptyDir: {} },
      ],
    },
  };
}

function containerOf(name: string, index: number): Pod['spec']['containers'][number] {
  return {
    name,
    image: `registry.example.com/team-${index % 12}/${name}:v1.${index}`,
    args: ['--config=/etc/config/config.yaml', '--verbosity=2'],
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 8 }, (_, i) => ({ name: `SETTING_${i}`, value: `value-${index}-${i}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/config', readOnly: true },
      { name: 'scratch', mountPath: '/tmp' },
    ],
    readinessProbe: { httpGet: { path: '/ready', port: 8080, scheme: 'HTTP' }, periodSeconds: 10 },
    livenessProbe: { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 10 },
    imagePullPolicy: 'IfNotPresent',
  };
}

function clusterStatus(index: number, restarts: number): PodStatus {
  const time = '2026-01-01T00:00:05Z';
  return {
    phase: 'Running',
    qosClass: 'Burstable',
    startTime: time,
    podIP: `10.0.${index >> 8}.${index & 255}`,
    podIPs: [{ ip: `10.0.${index >> 8}.${index & 255}` }],
    hostIP: '192.168.0.1',
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: time,
    })),
    containerStatuses: ['main', 'proxy'].map((name) => ({
      name,
      ready: true,
      started: true,
      restartCount: restarts,
      image: `registry.example.com/team-${index % 12}/${name}:v1.${index}`,
      imageID: `sha256:${String(index).padStart(64, '0')}`,
      containerID: `containerd://${String(index).padStart(64, 'a')}`,
      state: { running: { startedAt: time } },
    })),
  };
}

/** No pod ends in the bench: pods are only chosen. */
const NO_KILLS: PodKills = {
  kill: () => undefined,
  isUnderWay: () => false,
  views: () => [],
  podEnded: () => undefined,
  stop: () => undefined,
};

export interface BenchManager {
  readonly manager: PluginManager;
  readonly directory: Plugins;
  /** The pods with their statuses. */
  shown(): readonly Pod[];
  /** Makes the statuses of that many pods new ones. */
  change(count: number): void;
}

/** The manager as the agent has it, with its chart, deadlines and checks; pods and kills are stand-ins. */
export function benchManager(
  count: number,
  settings: Partial<EvictionPluginSettings> & { readonly registryDir: string },
  inspect: (event: InspectionEvent) => void,
): BenchManager {
  const pods = Array.from({ length: count }, (_, index) => clusterPod(index));
  const statuses = new Map<string, PodStatus>();
  let changes = 0;
  const change = (many: number) => {
    changes += 1;
    for (const [index, { metadata }] of pods.slice(0, many).entries())
      statuses.set(metadata.uid, clusterStatus(index, changes));
  };
  change(count);
  const context = {
    ...{ clock: systemClock, random: Math.random, logger: silentLogger, parent: idleParent(inspect) },
    recorder: { event: () => undefined, nodeEvent: () => undefined },
  };
  const directory = new Plugins(context, {
    registryDir: settings.registryDir,
    builtIn: [],
    connect: (registered) => new RemoteEvictionPlugin(registered),
    openRegistration: registrationClient,
  });
  const manager = new PluginManager(context, {
    directory,
    kills: NO_KILLS,
    settings: { ...PLUGIN_SETTINGS, ...settings },
    registry: registryOf(pods),
    statusOf: (uid) => statuses.get(uid),
    ownUIDOf: (uid) => uid,
    nodeName: NODE,
  });
  const shown = () =>
    pods.map((pod) => {
      const status = statuses.get(pod.metadata.uid);
      return status === undefined ? pod : { ...pod, status };
    });
  return { manager, directory, shown, change };
}

/** A parent for the manager: XState inspects actors with the function of their topmost actor only. */
function idleParent(inspect: (event: InspectionEvent) => void) {
  const machine: AnyStateMachine = createMachine({});
  return createActor(machine, { inspect }).start();
}

/** The only facts of a pod actor that the manager reads. */
function registryOf(pods: readonly Pod[]): PodRegistry {
  const entries = new Map(
    pods.map((pod) => {
      const snapshot = { context: { pod }, hasTag: (tag: string) => tag === 'couldHaveRunningContainers' };
      return [pod.metadata.uid, { actor: { getSnapshot: () => snapshot } } as unknown as PodEntry];
    }),
  );
  const registry = { entries: () => entries.values(), get: (uid: string) => entries.get(uid) };
  return registry as unknown as PodRegistry;
}
