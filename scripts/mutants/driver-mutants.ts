/** The use of volumes of CSI drivers and of ResourceClaims, broken. */
import type { Mutant } from './mutant.ts';

const CSI_NODE = 'src/agent/runtime/volumes/csi/csi-node.ts';
const IS_LAST = `isLast: ({ context, event }) => event.type === 'LEFT' && context.pods.every((pod) => pod === event.pod),`;
const IS_ANY = IS_LAST.replace('every', 'some');

export const DRIVER_MUTANTS: readonly Mutant[] = [
  {
    name: 'published-unstaged',
    breaks: 'A volume is published without being staged (csi)',
    file: CSI_NODE,
    find: `if (!source.isEphemeral) publishContext`,
    replace: `if (source.handle === '') publishContext`,
  },
  {
    name: 'published-unrecorded',
    breaks: 'A driver mounts a volume of which the next agent does not know (csi, I10)',
    file: CSI_NODE,
    find: `    await writeVolData(this.#disk, target.dataDir, this.#volDataOf(volume));\n`,
    replace: '',
  },
  {
    name: 'device-unlinked',
    breaks: 'A driver publishes a block device of which the next agent does not know (csi, I10)',
    file: CSI_NODE,
    find: `      await this.#disk.linkDevice(target.device, target.path);\n`,
    replace: '',
  },
  {
    name: 'device-unpublished-while-mapped',
    breaks: 'A block device is unpublished while it is mapped for its pod (csi)',
    file: CSI_NODE,
    find: `    await this.#disk.unmapDevice(device);\n`,
    replace: '',
  },
  {
    name: 'unmounted-by-agent',
    breaks: 'The agent unmounts what a driver has mounted (csi)',
    file: 'src/agent/runtime/volumes/remove-pod-folder.ts',
    find: `  await csi?.unmount(uid, paths);\n`,
    replace: '',
  },
  {
    name: 'unstaged-while-published',
    breaks: 'A volume is unstaged when the first of its pods has ended (csi)',
    file: 'src/agent/machines/csi-volume-machine.ts',
    find: IS_LAST,
    replace: IS_ANY,
  },
  {
    name: 'let-go-while-staged',
    breaks: 'A controller may detach a volume that no pod uses and that is still staged (csi)',
    file: 'src/agent/actors/volumes/csi-volumes.ts',
    find: `snapshot.context.isAttachable);`,
    replace: `snapshot.context.isAttachable && snapshot.context.pods.length > 0);`,
  },
  {
    name: 'claim-not-reserved',
    breaks: 'A pod uses a claim that is not reserved for it (dra)',
    file: 'src/agent/policies/dra/pod-claims.ts',
    find: `if (status.reservedFor?.some((consumer) => consumer.uid === uid) !== true)`,
    replace: `if (status.reservedFor === null)`,
  },
  {
    name: 'claim-unrecorded',
    breaks: 'A driver prepares a claim of which the next agent does not know (dra, I10)',
    file: 'src/agent/actors/dra/resource-claim-actor.ts',
    find: `          await save();\n`,
    replace: '',
  },
  {
    name: 'claim-unprepared-in-use',
    breaks: 'A claim is unprepared when the first of its pods has ended (dra)',
    file: 'src/agent/machines/resource-claim-machine.ts',
    find: IS_LAST,
    replace: IS_ANY,
  },
  {
    name: 'slices-kept',
    breaks: 'The cluster counts on the devices of a driver that is gone (dra)',
    file: 'src/agent/actors/dra/dra-driver-actor.ts',
    find: `          await removeSlices(signal);\n`,
    replace: '',
  },
  {
    name: 'claim-kept',
    breaks: 'A claim is not given up when its last pod has ended (I10)',
    file: 'src/agent/runtime/dra/claim-subsystem.ts',
    find: `    release: (uid) => dra.release(uid),\n`,
    replace: '',
  },
];
