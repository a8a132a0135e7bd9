/** Which plugins are registered, which message the others get, and when they are asked again. Limits and back-off are the kubelet's. */

import { oneLine, shortLine } from '../formats/terminal-text.ts';

/** The type of eviction plugins, as they name it. */
export const EVICTION_PLUGIN_TYPE = 'EvictionPlugin';
export const EVICTION_PLUGIN_VERSIONS: readonly string[] = ['v1alpha1'];

/** The kubelet gives a plugin 10 s to accept the connection, and 1 s to answer. Here it is one call. */
export const GET_INFO_LIMIT_MS = 10_000;
export const NOTIFY_LIMIT_MS = 5_000;
export const TOKEN_LIMIT_MS = 5_000;

const BACK_OFF_FIRST_MS = 500;
const BACK_OFF_MOST_MS = 122_000;

/** With this the kubelet begins each message to a plugin that it does not register. */
const REFUSAL_PREFIX = 'RegisterPlugin error -- ';
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?$/;
const NAME_MAX_LENGTH = 253;
const SHOWN_MAX_LENGTH = 100;
const SHOWN_VERSIONS_MAX = 10;

/** What a plugin says of itself. */
export interface PluginOffer {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export type OfferVerdict =
  | { readonly kind: 'accepted'; readonly name: string; readonly endpoint: string }
  | { readonly kind: 'refused'; readonly name: string; readonly problem: string };

/** By type: why a plugin of that type is not taken; undefined where it is. */
type OfferChecks = ReadonlyMap<string, { readonly problemOf: (offer: PluginOffer) => string | undefined }>;

/**
 * `socket`: the path at which the plugin was asked. A plugin without an endpoint of its own serves at the same socket. As with the kubelet, a plugin
 * of a type without a handler is refused.
 */
export function judgeOffer(offer: PluginOffer, socket: string, handlers: OfferChecks): OfferVerdict {
  const name = shown(offer.name);
  const refused = (problem: string): OfferVerdict => ({ kind: 'refused', name, problem });
  const handler = handlers.get(offer.type);
  if (handler === undefined)
    return refused(
      `no handler registered for plugin type: ${shown(offer.type)} at socket ${oneLine(socket)}`,
    );
  const invalid = handler.problemOf(offer);
  if (invalid !== undefined) return refused(validationFailure(invalid));
  const endpoint = offer.endpoint === '' ? socket : offer.endpoint.replace(/^unix:(?:\/\/)?(?=\/)/, '');
  if (!endpoint.startsWith('/'))
    return refused(
      validationFailure(`its endpoint "${shown(endpoint)}" is not the absolute path of a socket`),
    );
  return { kind: 'accepted', name: offer.name, endpoint };
}

/** `builtIn`: the names of plugins that are built in. */
export function evictionOfferProblem(offer: PluginOffer, builtIn: ReadonlySet<string>): string | undefined {
  return nameProblem(offer.name, builtIn) ?? versionProblem(offer.supportedVersions);
}

function nameProblem(name: string, builtIn: ReadonlySet<string>): string | undefined {
  if (name === '') return 'it has no name';
  if (name.length > NAME_MAX_LENGTH) return `its name has more than ${NAME_MAX_LENGTH} characters`;
  if (!NAME.test(name))
    return `its name "${shown(name)}" must consist of letters, digits, '-', '_', '.' and '/', and begin and end with a letter or digit`;
  return builtIn.has(name) ? `"${name}" is the name of a built-in plugin` : undefined;
}

function versionProblem(offered: readonly string[]): string | undefined {
  if (offered.some((version) => EVICTION_PLUGIN_VERSIONS.includes(version))) return undefined;
  const shownVersions = offered.slice(0, SHOWN_VERSIONS_MAX).map(shown);
  const more = offered.length > SHOWN_VERSIONS_MAX ? ', …' : '';
  return `supported here: ${EVICTION_PLUGIN_VERSIONS.join(', ')}; supported by the plugin: ${shownVersions.join(', ') || 'none'}${more}`;
}

export function validationFailure(problem: string): string {
  return `plugin validation failed with err: ${problem}`;
}

/** Plugins can answer anything. */
function shown(text: string): string {
  return shortLine(text, SHOWN_MAX_LENGTH);
}

const PROBLEM_MAX_LENGTH = 1000;

/** Why a question to a plugin failed: the plugin may say so itself, in words of its own. */
export function shownProblem(problem: string): string {
  return shortLine(problem, PROBLEM_MAX_LENGTH);
}

/** The message to a plugin that is refused. */
export function refusalText(problem: string): string {
  return `${REFUSAL_PREFIX}${problem}`;
}

/** How long to wait after that many failed tries in a row. */
export function registrationBackOffMs(failures: number): number {
  return Math.min(BACK_OFF_FIRST_MS * 2 ** Math.max(0, failures - 1), BACK_OFF_MOST_MS);
}
