/** Which device plugins are accepted. Messages of refusals are the kubelet's. */
import type { PluginOffer } from '../eviction-plugins/plugin-registration.ts';
import { isExtendedResourceName } from '../node/node-capacity.ts';

/** The type of device plugins, as they name it to the watcher of plugins. */
export const DEVICE_PLUGIN_TYPE = 'DevicePlugin';

const VERSION = 'v1beta1';
/** Protects from a program that registers new names without end. */
const RESOURCES_MAX = 200;
const SHOWN_MAX_LENGTH = 100;

export interface DevicePluginRequest {
  readonly version: string;
  /** The name of its socket in the folder of device plugins. */
  readonly endpoint: string;
  readonly resourceName: string;
}

/** `known`: the resources that have or had a plugin. Undefined: the plugin is accepted. */
export function registrationProblem(
  { version, endpoint, resourceName }: DevicePluginRequest,
  known: readonly string[],
): string | undefined {
  if (version !== VERSION)
    return `requested API version "${shown(version)}" is not supported by kubelet. Supported version is "${VERSION}"`;
  if (!isExtendedResourceName(resourceName)) return invalidResource(resourceName);
  if (endpoint === '' || endpoint.includes('/') || endpoint.includes('\0') || /^\.\.?$/u.test(endpoint))
    return `the endpoint "${shown(endpoint)}" is not the name of a socket in the folder of device plugins`;
  return countProblem(resourceName, known);
}

/** For a plugin whose socket is in `plugins_registry`: its name is the resource. */
export function offerProblem(
  { name, supportedVersions }: PluginOffer,
  known: readonly string[],
): string | undefined {
  if (!supportedVersions.includes(VERSION)) {
    const versions = supportedVersions.slice(0, 10).map(shown).join(' ');
    return `manager version, ${VERSION}, is not among plugin supported versions [${versions}]`;
  }
  if (!isExtendedResourceName(name)) return `invalid name of device plugin socket: ${invalidResource(name)}`;
  return countProblem(name, known);
}

function invalidResource(name: string): string {
  return `the ResourceName "${shown(name)}" is invalid`;
}

function countProblem(resource: string, known: readonly string[]): string | undefined {
  if (known.includes(resource) || known.length < RESOURCES_MAX) return undefined;
  return `the node has device plugins of ${RESOURCES_MAX} resources already`;
}

/** Without control characters, and cut, since a plugin can send any text. */
function shown(text: string): string {
  const printable = text.replace(/\p{Cc}/gu, '?');
  return printable.length > SHOWN_MAX_LENGTH ? `${printable.slice(0, SHOWN_MAX_LENGTH)}…` : printable;
}
