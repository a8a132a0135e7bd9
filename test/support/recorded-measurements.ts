import type { KeptMemory } from '../../src/agent/policies/cgroups/memory-qos.ts';
import type {
  CsiMeasurements,
  ImageMeasurements,
  Measurements,
  NodeLifeMeasurements,
  PlegMeasurements,
  PluginMeasurements,
  PodMeasurements,
  PodResourcesMeasurements,
  RequestMeasurements,
  DeviceMeasurements,
  DraMeasurements,
  PlacementMeasurements,
  ResizeMeasurements,
  StartMeasurements,
  ProbedContainer,
  Stopwatch,
  TurnoverMeasurements,
} from '../../src/types/measurements.ts';

/** Measurements as lines: what began, and how it ended. */
export class RecordedMeasurements implements Measurements {
  readonly told: string[] = [];
  /** The memory that the kernel keeps for pods, as last told. */
  kept: KeptMemory | undefined;
  readonly turnover: TurnoverMeasurements = {
    preempted: (resource) => void this.told.push(`preempted for ${resource}`),
    admitted: (containerCount) => void this.told.push(`admitted with ${containerCount} containers`),
    rejected: (reason) => void this.told.push(`rejected: ${reason}`),
    restarted: (isStatic) => void this.told.push(`restarted ${isStatic ? 'a static pod' : 'a pod'}`),
    orphaned: () => void this.told.push('orphaned'),
    swept: (found, failed) => void this.told.push(`swept ${found} pods, ${failed} in failure`),
    podStarted: (hasUserNamespace, failed = false) =>
      void this.told.push(`pod${hasUserNamespace ? ' with ids' : ''} ${failed ? 'did not start' : 'starts'}`),
    containerStarted: (type, failure) => void this.told.push(`${type} ${failure ?? 'starts'}`),
    imageVolumesRequested: (count) => void this.told.push(`${count} image volumes`),
    imageVolumesMounted: (count, outcome) => void this.told.push(`${count} image mounts: ${outcome}`),
    hookFellBack: () => void this.told.push('hook by HTTP'),
    sleepCutShort: () => void this.told.push('sleep cut short'),
    containerTerminated: (type, exitCode, reason) =>
      void this.told.push(`${type} ended: ${exitCode} ${reason}`),
  };

  readonly resizes: ResizeMeasurements = {
    requested: ({ resource, requirement, operation }) =>
      void this.told.push(`${operation} ${requirement} of ${resource}`),
    infeasible: (reason) => void this.told.push(`infeasible: ${reason}`),
    deferredAccepted: (trigger) => void this.told.push(`accepted by ${trigger}`),
    carriedOut: () => this.#begin('resize'),
  };

  readonly placement: PlacementMeasurements = {
    admission: () => this.#begin('admission'),
    pinned: (resource, isGiven) => void this.told.push(`${resource} ${isGiven ? 'pinned' : 'not pinned'}`),
    aligned: (scope, boundary, isAligned) =>
      void this.told.push(`${scope} ${isAligned ? 'within' : 'not within'} ${boundary}`),
    cpus: ({ free, exclusive }) => {
      const taken = Array.from(exclusive, ([node, count]) => `${count} of node ${node}`).join();
      this.told.push(`${free} CPUs free, ${taken}`);
    },
  };

  readonly devices: DeviceMeasurements = {
    registered: (resource) => void this.told.push(`${resource} registered`),
    allocated: (resource) => this.#begin(`allocation of ${resource}`),
  };

  readonly dra: DraMeasurements = {
    operation: (name) => this.#begin(name),
    called: (driver, method) => (code) => void this.told.push(`${method} of ${driver}: ${code}`),
    claimsInUse: (all) => void this.told.push(`${all} claims in use`),
  };

  readonly requests: RequestMeasurements = {
    nodeRequest: ({ method, path = 'no path', isReadOnly }) =>
      this.#begin(`${method} ${path}${isReadOnly ? ' of everyone' : ''}`),
    webSocketAdmitted: (path) => void this.told.push(`WebSocket ${path}`),
  };
  readonly podResources: PodResourcesMeasurements = {
    asked: (version, method = 'list') => void this.told.push(`${version} ${method}`),
    failed: (version) => void this.told.push(`${version} get fails`),
  };
  readonly starts: StartMeasurements = {
    forgotten: () => undefined,
    awaited: (uid) => void this.told.push(`${uid} is to start`),
    initContainerRan: (uid, durationMs) => void this.told.push(`${uid} init container: ${durationMs} ms`),
    started: (uid, { sinceCreationMs, isStateful, hostNetwork }) =>
      void this.told.push(
        `${uid} started: ${sinceCreationMs} ms${isStateful ? ' stateful' : ''}${hostNetwork ? ' host' : ''}`,
      ),
  };
  readonly pods: PodMeasurements = {
    added: (uid, isNew) => void this.told.push(`${uid} ${isNew ? 'new' : 'known'}`),
    inState: (uid, state) => void this.told.push(`${uid} in ${state}`),
    sent: (uid, event) => void this.told.push(`${uid} gets ${event}`),
    inPhase: (uid, phase) => void this.told.push(`${uid} is ${phase}`),
    forgotten: (uid) => void this.told.push(`${uid} forgotten`),
    effect: (uid, effect) => this.#begin(`${uid} ${effect}`),
  };
  readonly plugins: PluginMeasurements = {
    pods: (active, candidates) => void this.told.push(`${candidates} of ${active} pods are shown to plugins`),
    decided: (victims, conditions) => {
      for (const { name, condition_name: condition, dryrun } of conditions)
        this.told.push(`${name} reports ${condition}, dry run ${dryrun}`);
      for (const { plugin, namespace, name } of victims)
        this.told.push(`${namespace}/${name} is ended for ${plugin}`);
    },
    notified: (notices) => {
      for (const { pod_name: pod, plugin_name: plugin, state } of notices)
        this.told.push(`${pod} is told of ${plugin}: ${state}`);
    },
    tainted: (taints) =>
      void this.told.push(
        `CNR: ${taints.map(({ qos_level: level, key, effect }) => `${key}:${level}/${effect}`).join()}`,
      ),
    answered: (plugin, call, result) => void this.told.push(`${plugin} ${call}: ${result}`),
    validated: ({ name, valid, reason, user }) =>
      void this.told.push(`${name} of ${user}: valid ${valid} ${reason}`.trim()),
    victim: (plugin, isDryRun) =>
      void this.told.push(`${isDryRun ? 'dry-run victim' : 'victim'} of ${plugin}`),
  };
  readonly nodeLife: NodeLifeMeasurements = {
    statusChanged: () => this.#begin('status'),
    shutdownBegan: (atMs) => void this.told.push(`shutdown begins at ${atMs}`),
    shutdownEnded: (atMs) => void this.told.push(`shutdown ends at ${atMs}`),
    registrationBegan: () => void this.told.push('registration begins'),
    registered: () => void this.told.push('registered'),
    nodeReady: () => void this.told.push('node ready'),
  };

  readonly images: ImageMeasurements = {
    imagePulled: (sizeBytes) => void this.told.push(`pulled an image of ${sizeBytes} bytes`),
    podPull: (uid) => this.#begin(`${uid} pull`),
    imageEnsured: (policy, isPresent, isPullRequired) =>
      void this.told.push(`image ${policy}: present ${isPresent ?? '?'}, pull ${isPullRequired ?? '?'}`),
    imageCollected: (reason) => void this.told.push(`removed an image for ${reason}`),
    credentialPlugin: (plugin) => this.#begin(`plugin ${plugin}`),
    credentialProviders: (hash) => void this.told.push(`credential providers ${hash}`),
    pullChecked: (result) => void this.told.push(`pull check: ${result}`),
    pullRecords: (pulling, pulled) => void this.told.push(`records: ${pulling} pulling, ${pulled} pulled`),
  };
  readonly csi: CsiMeasurements = {
    operation: (driver, method) => {
      const end = this.#begin(`${driver} ${method}`);
      return (code) => end(code === 'OK' ? 'success' : 'failure');
    },
  };
  readonly pleg: PlegMeasurements = {
    relist: () => this.#begin('relist'),
    podRelist: () => this.#begin('pod relist'),
    eventsAsked: () => void this.told.push('events asked for'),
    eventsFailed: () => void this.told.push('events failed'),
    eventHeard: (delayMs) => void this.told.push(`event after ${Math.round(delayMs)} ms`),
  };

  runtimeOperation(operation: string): Stopwatch {
    return this.#begin(`runtime ${operation}`);
  }

  sandboxRun(handler: string): Stopwatch {
    return this.#begin(`sandbox of handler "${handler}"`);
  }

  cgroupOperation(operation: string): Stopwatch {
    return this.#begin(`cgroup ${operation}`);
  }

  memoryKept(kept: KeptMemory): void {
    this.kept = kept;
  }

  volumeOperation(operation: string, plugin: string): Stopwatch {
    return this.#begin(`${operation} ${plugin}`);
  }

  volumeWanted(plugin: string): Stopwatch {
    return this.#begin(`wanted ${plugin}`);
  }

  volumeWalk(): Stopwatch {
    return this.#begin('volume walk');
  }

  rotated(kind: string, ageMs: number): void {
    this.told.push(`${kind} certificate rotated after ${ageMs} ms`);
  }

  apiRequest(method: string): (host: string, status?: number) => void {
    return (host, status) => void this.told.push(`${method} ${host} ${status ?? 'no answer'}`);
  }

  probe({ pod, container, probe }: ProbedContainer): (result?: 'Success' | 'Failure') => void {
    return (result) => void this.told.push(`${pod} ${container} ${probe} ${result ?? 'no result'}`);
  }

  probeRemoved({ pod, container, probe }: ProbedContainer): void {
    this.told.push(`${pod} ${container} ${probe} removed`);
  }

  evicted(signal: string): void {
    this.told.push(`evicted for ${signal}`);
  }

  evictionStatsAge(signal: string, ageMs: number): void {
    this.told.push(`figures of ${signal} are ${ageMs} ms old`);
  }

  renewalFailed(kind: string): void {
    this.told.push(`${kind} certificate not renewed`);
  }

  #begin(what: string): Stopwatch {
    this.told.push(`${what} begins`);
    return (outcome) => void this.told.push(`${what} ends${outcome === 'failure' ? ' in failure' : ''}`);
  }
}
