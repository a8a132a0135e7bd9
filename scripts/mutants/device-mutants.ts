/** The handing out of devices, broken. */
import type { Mutant } from './mutant.ts';

const ARBITER = 'src/agent/actors/start/room-arbiter.ts';
const MANAGER = 'src/agent/runtime/devices/device-manager.ts';
const STOCK = 'src/agent/runtime/devices/device-stock.ts';
const CHOICE = 'src/agent/policies/devices/device-choice.ts';
const LIST = 'src/agent/policies/devices/device-list.ts';
const REGISTRATION = 'src/agent/policies/devices/device-registration.ts';
const PLUGIN = 'src/agent/actors/devices/device-plugin.ts';
const PLUGINS = 'src/agent/actors/devices/device-plugins.ts';

export const DEVICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'device-twice',
    breaks: 'A device that a pod has is given to another one (devices)',
    file: CHOICE,
    find: `healthy.filter((id) => !allocated.has(id) && !reusable.has(id))`,
    replace: `healthy.filter((id) => !reusable.has(id))`,
  },
  {
    name: 'broken-device',
    breaks: 'A device that its plugin calls unhealthy is handed out (devices)',
    file: CHOICE,
    find: `  const healthy = healthyIds(devices);\n`,
    replace: `  const healthy = [...devices.keys()];\n`,
  },
  {
    name: 'device-of-gone-plugin',
    breaks: 'Devices are handed out whose plugin is gone (devices)',
    file: STOCK,
    find: `{ ...device, isHealthy: false }`,
    replace: `{ ...device }`,
  },
  {
    name: 'preference-trusted',
    breaks: 'A plugin that lies chooses devices that do not exist or that others have (devices)',
    file: CHOICE,
    find: `candidates.filter((id) => wanted.has(id));`,
    replace: `[...wanted];`,
  },
  {
    name: 'nameless-device',
    breaks: 'A device without an ID is handed out (devices)',
    file: LIST,
    find: `ID === '' || `,
    replace: '',
  },
  {
    name: 'container-without-devices',
    breaks: 'A container is made without the devices of its pod (devices)',
    file: MANAGER,
    find: `    if (requests.size === 0) return {};`,
    replace: `    if (requests.size >= 0) return {};`,
  },
  {
    name: 'devices-not-taken-back',
    breaks: 'The devices of a pod stay held when it has ended (devices)',
    file: MANAGER,
    find: `    if (this.#records.release(uid)) this.#unwritten`,
    replace: `    if (this.#records.hasPod(uid)) this.#unwritten`,
  },
  {
    name: 'checkpoint-not-read',
    breaks: 'The next agent does not know which devices pods have (devices, I10)',
    file: MANAGER,
    find: `this.#records.recall(entries);`,
    replace: `this.#records.recall(entries.slice(1));`,
  },
  {
    name: 'started-before-checkpoint',
    breaks:
      'A pod starts though the disk could not be told of its devices: an agent that is killed then gives them to others (devices, I10)',
    file: MANAGER,
    find: `    await this.#write();\n    this.#unwritten.delete(uid);`,
    replace: `    this.#unwritten.delete(uid);\n    await this.#write();`,
  },
  {
    name: 'outdated-assignment-kept',
    breaks:
      'A device that was set aside by an attempt which was broken off stays with the pod when it is gone (devices)',
    file: ARBITER,
    find: `this.#mayHaveOld(uid, before)) `,
    replace: `this.#mayHaveOld(uid, before) && before === undefined) `,
  },
  {
    name: 'running-pod-judged-by-devices',
    breaks: 'A pod that runs is rejected by a new agent whose plugins have not come back (admission, I10)',
    file: MANAGER,
    find: `    if (this.#runs(pod.metadata.uid)) return;\n`,
    replace: '',
  },
  {
    name: 'health-untrue',
    breaks: 'The status of a pod calls its healthy devices unhealthy (devices)',
    file: 'src/agent/policies/devices/device-health.ts',
    find: `device.isHealthy ? 'Healthy' : 'Unhealthy'`,
    replace: `'Unhealthy'`,
  },
  {
    name: 'health-not-told',
    breaks: 'The status of a pod follows the health of its devices only with its next sync (devices)',
    file: MANAGER,
    find: `    if (holders.length > 0) this.healthChanges.next(holders);\n`,
    replace: '',
  },
  {
    name: 'devices-not-told',
    breaks: 'Nobody hears that the node has other devices: pods that wait for them wait for ever (devices)',
    file: PLUGINS,
    find: `      core.onAllocatable();\n`,
    replace: '',
  },
  {
    name: 'wrong-plugin-taken',
    breaks: 'A plugin is registered that speaks another version (devices)',
    file: REGISTRATION,
    find: `  if (version !== VERSION)
    return`,
    replace: `  if (version === '')
    return`,
  },
  {
    name: 'dead-plugin-listed',
    breaks: 'The devices of a plugin that has died can still be had (devices)',
    file: PLUGIN,
    find: `    this.#parts.devices.gone(this.#parts.resource);\n`,
    replace: '',
  },
  {
    name: 'gap-between-plugins',
    breaks: 'A plugin that serves is let go of before the one that is to replace it has answered (devices)',
    file: PLUGIN,
    find: `    const client = this.#parts.open(resource, successor?.endpoint ?? '');`,
    replace: `    this.#disconnect();
    const client = this.#parts.open(resource, successor?.endpoint ?? '');`,
  },
];
