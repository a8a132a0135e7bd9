import type { AnyStateMachine } from 'xstate';
import { certificateMachine } from './certificate-machine.ts';
import { connectionMachine } from './connection-machine.ts';
import { csiVolumeMachine } from './csi-volume-machine.ts';
import { devicePluginMachine } from './device-plugin-machine.ts';
import { draDriverMachine } from './dra-driver-machine.ts';
import { evictionMachine } from './eviction-machine.ts';
import { evictionPluginsMachine } from './eviction-plugins-machine.ts';
import { leaseMachine } from './lease-machine.ts';
import { nodeMachine } from './node-machine.ts';
import { pluginMachine } from './plugin-machine.ts';
import { podKillMachine } from './pod-kill-machine.ts';
import { podMachine } from './pod-machine.ts';
import { preemptionMachine } from './preemption-machine.ts';
import { probeMachine } from './probe-machine.ts';
import { resizeMachine } from './resize-machine.ts';
import { resourceClaimMachine } from './resource-claim-machine.ts';
import { shutdownMachine } from './shutdown-machine.ts';
import { statusWriterMachine } from './status-writer-machine.ts';
import { supervisorMachine } from './supervisor-machine.ts';
import { taintsMachine } from './taints-machine.ts';

/** Every machine of the project, by the name under which `statelet charts` prints it. */
export const machines: Readonly<Record<string, AnyStateMachine>> = {
  certificate: certificateMachine,
  connection: connectionMachine,
  csiVolume: csiVolumeMachine,
  devicePlugin: devicePluginMachine,
  draDriver: draDriverMachine,
  eviction: evictionMachine,
  evictionPlugins: evictionPluginsMachine,
  lease: leaseMachine,
  node: nodeMachine,
  plugin: pluginMachine,
  pod: podMachine,
  podKill: podKillMachine,
  preemption: preemptionMachine,
  probe: probeMachine,
  resize: resizeMachine,
  resourceClaim: resourceClaimMachine,
  shutdown: shutdownMachine,
  statusWriter: statusWriterMachine,
  supervisor: supervisorMachine,
  taints: taintsMachine,
};
