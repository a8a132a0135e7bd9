import type { ContainerConfig, NamespaceOption, PodSandboxConfig } from '../../../../src/types/cri.ts';

/** No network to set up, and process 1 is the pause container's: a plain command then dies of SIGTERM. */
const namespaceOptions: NamespaceOption = { network: 'NODE', pid: 'POD', ipc: 'POD' };

export const HOST_SANDBOX: Partial<PodSandboxConfig> = { linux: { securityContext: { namespaceOptions } } };

export const hostContainer = (image: string): Partial<ContainerConfig> => ({
  image: { image },
  linux: { securityContext: { namespaceOptions } },
});
