/** Cgroups of daemons that are limited to what is reserved for them. */
import type { ReservedSettings } from '../../types/node-settings.ts';
import type { ResourceList } from '../pod/resources.ts';
import type { Reservations } from './node-allocatable.ts';

export interface ReservedGroup {
  /** As in the kubelet's events: `kube reserved`, `system reserved`. */
  readonly title: string;
  readonly field: 'kubeReservedCgroup' | 'systemReservedCgroup';
  /** As configured: a path, or with the systemd driver a slice. */
  readonly name: string;
  readonly limits: ResourceList;
}

export function reservedGroups(
  { enforceNodeAllocatable: enforced, kubeReservedCgroup, systemReservedCgroup }: ReservedSettings,
  { kubeReserved, systemReserved }: Reservations,
): readonly ReservedGroup[] {
  const limits = (key: string, reserved: ResourceList): ResourceList | undefined => {
    if (enforced.includes(key)) return reserved;
    return enforced.includes(`${key}-compressible`) ? compressible(reserved) : undefined;
  };
  const system = limits('system-reserved', systemReserved);
  const kube = limits('kube-reserved', kubeReserved);
  return [
    ...(system
      ? [
          {
            title: 'system reserved',
            field: 'systemReservedCgroup',
            name: systemReservedCgroup,
            limits: system,
          } as const,
        ]
      : []),
    ...(kube
      ? [
          {
            title: 'kube reserved',
            field: 'kubeReservedCgroup',
            name: kubeReservedCgroup,
            limits: kube,
          } as const,
        ]
      : []),
  ];
}

/** What can be taken away again from processes: CPU. */
function compressible({ cpu }: ResourceList): ResourceList {
  return cpu === undefined ? {} : { cpu };
}
