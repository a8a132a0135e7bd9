/** Which DRA drivers are accepted. Messages of refusals are the kubelet's. */
import { shortLine } from '../formats/terminal-text.ts';
import type { PluginOffer } from '../eviction-plugins/plugin-registration.ts';

/** The type of DRA drivers, as they name it to the watcher of plugins. */
export const DRA_PLUGIN_TYPE = 'DRAPlugin';

/** The gRPC services, by the names in a driver's registration. */
const SERVICES = {
  'v1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin',
  'v1beta1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin',
} as const;

export type DraService = (typeof SERVICES)[keyof typeof SERVICES];

/** Protects from a program that registers new names without end. */
const DRIVERS_MAX = 100;
/** The name of a driver is a DNS name. */
const DRIVER_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/u;
const DRIVER_NAME_MAX_LENGTH = 63;
const SHOWN_SERVICES_MAX = 10;
const SHOWN_MAX_LENGTH = 100;

/** The first one in the driver's list that is known here. */
export function draServiceOf(supportedVersions: readonly string[]): DraService | undefined {
  const known = supportedVersions.find((version) => Object.hasOwn(SERVICES, version));
  return known === undefined ? undefined : SERVICES[known as keyof typeof SERVICES];
}

/** `known`: the drivers that this node has or had. Undefined: the driver is accepted. */
export function draOfferProblem(
  { name, endpoint, supportedVersions }: PluginOffer,
  known: readonly string[],
): string | undefined {
  if (name.length > DRIVER_NAME_MAX_LENGTH || !DRIVER_NAME.test(name))
    return `the name of a DRA driver is a DNS name of at most ${DRIVER_NAME_MAX_LENGTH} characters, not "${shown(name)}"`;
  const services = servicesProblem(supportedVersions);
  if (services !== undefined) {
    const where = `DRA driver plugin ${name} at endpoint ${shown(endpoint)}`;
    return `invalid supported gRPC versions of ${where}: ${services}`;
  }
  if (known.includes(name) || known.length < DRIVERS_MAX) return undefined;
  return `the node has ${DRIVERS_MAX} DRA drivers already`;
}

function servicesProblem(supportedVersions: readonly string[]): string | undefined {
  if (supportedVersions.length === 0) return 'empty list of supported gRPC services (aka supported versions)';
  if (draServiceOf(supportedVersions) !== undefined) return undefined;
  const offered = quoted(supportedVersions.slice(0, SHOWN_SERVICES_MAX).map(shown));
  return `none of services supported by the plugin (${offered}) are supported by the kubelet (${quoted(Object.keys(SERVICES))})`;
}

const shown = (text: string): string => shortLine(text, SHOWN_MAX_LENGTH);
const quoted = (texts: readonly string[]): string => `[${texts.map((text) => `"${text}"`).join(' ')}]`;
