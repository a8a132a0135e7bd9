/** The flags of `statelet run`, by the kubelet's names where it has them. */
import { isIP } from 'node:net';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  DEFAULTS,
  type DefaultsByName,
  defaultsByName,
  EMBEDDED,
  type Endpoint,
  type InspectedPod,
  type LogFormat,
} from '../agent/config/config.ts';
import { defaultRootDir, OWN_FOLDER, ROOT_DIR_VARIABLE, thisHost } from '../agent/config/root-folder.ts';
import { MAX_DURATION_MS, parseDuration, shortDuration } from '../agent/policies/formats/duration.ts';
import { isHttpURL } from '../agent/config/kubelet-configuration.ts';
import { ALL_ADMISSION_SETTINGS } from '../agent/config/load-admission-settings.ts';
import { FEATURE_GATES } from '../agent/config/load-feature-gates.ts';
import { ALL_CLUSTER_SETTINGS } from '../agent/config/load-cluster-settings.ts';
import { ALL_SERVER_SETTINGS } from '../agent/config/load-server-settings.ts';
import { ALL_BUILT_IN_SETTINGS } from '../agent/config/load-built-in-settings.ts';
import { ALL_EVICTION_PLUGIN_SETTINGS } from '../agent/config/load-eviction-plugin-settings.ts';
import { ALL_EVICTION_SETTINGS } from '../agent/config/load-eviction-settings.ts';
import { ALL_NODE_SETTINGS } from '../agent/config/load-node-settings.ts';
import { bytes, parseSetting, type Setting, shownDefault } from '../agent/config/setting.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import { EMBEDDED_VOLUMES, type EmbeddedVolumes } from '../types/node-settings.ts';

const MAX_VERBOSITY = 10;

/** The default is part of the text. Commander must not set it: a default could then not be told from a given flag. */
function flag(
  flags: string,
  description: string,
  parse?: (value: string, previous: never) => unknown,
): Option {
  const option = new Option(flags, description);
  return parse === undefined ? option : option.argParser(parse as never);
}

/** `asKubelet`: the program was started under the name `kubelet`, and has other defaults. */
export function addRunFlags(command: Command, { asKubelet = false } = {}): Command {
  return addFlags(command, runFlags(defaultsByName(asKubelet)));
}

/** The flags of `statelet run` that say which pods run here, and how; without those of a daemon that goes on. */
export function addRunOnceFlags(command: Command): Command {
  const defaults = defaultsByName(false);
  return addFlags(command, {
    ...podFlags(defaults),
    Retries: retryFlags(),
    Logging: loggingFlags(defaults),
  });
}

/** Eviction settings, for commands that compute with figures from files. */
export function addEvictionFlags(command: Command): Command {
  return addFlags(command, {
    'Eviction settings for figures from files': settingFlags(ALL_EVICTION_SETTINGS),
  });
}

/** What `statelet run` has for the server of a node. */
export function addServerFlags(command: Command): Command {
  return addFlags(command, { 'The server of the nodes': settingFlags(ALL_SERVER_SETTINGS) });
}

function addFlags(command: Command, flags: Flags): Command {
  for (const [heading, options] of Object.entries(flags)) {
    for (const option of options) command.addOption(option.helpGroup(`${heading}:`));
  }
  return command;
}

type Flags = Readonly<Record<string, readonly Option[]>>;

/** Flags by the headings of the help. */
function runFlags(defaults: DefaultsByName): Flags {
  return {
    ...podFlags(defaults),
    'The cluster': settingFlags(ALL_CLUSTER_SETTINGS),
    "The node's server": settingFlags(ALL_SERVER_SETTINGS),
    'Eviction plugins': settingFlags(ALL_EVICTION_PLUGIN_SETTINGS),
    ...howToRun(defaults),
    'Built-in eviction plugins': settingFlags(ALL_BUILT_IN_SETTINGS),
  };
}

/** Which pods run here, and in which runtime. */
function podFlags(defaults: DefaultsByName): Flags {
  return {
    ...whatToRun(defaults),
    'The node': settingFlags([...ALL_ADMISSION_SETTINGS, FEATURE_GATES as Setting]),
    Eviction: settingFlags(ALL_EVICTION_SETTINGS),
    ...onWhatToRun(defaults),
    'Real containers (CRI)': settingFlags(ALL_NODE_SETTINGS),
  };
}

function whatToRun({ rootDir }: DefaultsByName): Flags {
  return {
    Configuration: [
      flag('--config <FILE>', 'KubeletConfiguration v1beta1, YAML or JSON; flags win over it'),
      flag(
        '--config-dir <DIR>',
        'folder of files *.conf that are merged into that of --config, in the order of their names',
      ),
      rootDirFlag(rootDir),
      flag('--hostname-override <NAME>', "name of this node (default: this machine's host name)"),
    ],
    Pods: [
      flag(
        '--pods <PATH>',
        'file, folder or URL of manifests of ordinary pods; without an API server; may be repeated',
        podsLocation,
      ),
      flag('--pod-manifest-path <PATH>', 'file or folder of manifests of static pods'),
      flag('--manifest-url <URL>', 'URL of manifests of static pods', httpURL),
      flag(
        '--manifest-url-header <NAME:VALUE>',
        'header of requests to --manifest-url; may be repeated, or hold several, separated by commas',
        header,
      ),
      flag('--max-pods <N>', `how many pods may run here (default: ${DEFAULTS.maxPods})`, wholeNumber()),
    ],
  };
}

function onWhatToRun({ containerRuntimeEndpoint }: DefaultsByName): Flags {
  return {
    Runtime: [
      flag(
        '--container-runtime-endpoint <ENDPOINT>',
        `"${EMBEDDED}": plain host processes; unix:///PATH: a CRI runtime (default: ${containerRuntimeEndpoint})`,
      ),
      flag(
        '--embedded-volumes <HOW>',
        `volumes of pods of plain host processes: "mount", or "ignore" to run the pods as if they had none (default: ${DEFAULTS.embeddedVolumes})`,
        embeddedVolumes,
      ),
    ],
  };
}

/** A flag for each row of a table that names one. */
function settingFlags(settings: readonly Setting[]): readonly Option[] {
  return settings.flatMap((setting) => {
    if (setting.flag === undefined) return [];
    const byDefault = shownDefault(setting);
    const description =
      byDefault === '' ? setting.description : `${setting.description} (default: ${byDefault})`;
    return [flag(setting.flag, description, (value, previous) => parsedSetting(setting, value, previous))];
  });
}

function parsedSetting(setting: Setting, value: string, previous: unknown): unknown {
  try {
    return parseSetting(setting, value, previous);
  } catch (error) {
    throw new InvalidArgumentError(errorMessage(error));
  }
}

function howToRun(defaults: DefaultsByName): Flags {
  const { fileCheckFrequencyMs, httpCheckFrequencyMs, syncFrequencyMs, inspect, ui } = DEFAULTS;
  return {
    Timing: [
      flag(
        '--file-check-frequency <DURATION>',
        `how often manifests are read again from files ${by(fileCheckFrequencyMs)}`,
        frequency,
      ),
      flag(
        '--http-check-frequency <DURATION>',
        `how often manifests are read again from a URL ${by(httpCheckFrequencyMs)}`,
        frequency,
      ),
      flag(
        '--sync-frequency <DURATION>',
        `how often a pod is synced without a change ${by(syncFrequencyMs)}`,
        frequency,
      ),
    ],
    'Endpoint of /healthz, /pods and /stats/summary': [
      flag(
        '--healthz-bind-address <IP>',
        `address at which /healthz and /pods are served (default: ${DEFAULTS.healthzBindAddress})`,
        ipAddress,
      ),
      flag(
        '--healthz-port <PORT>',
        `"auto" for any free port, 0 for none (default: ${DEFAULTS.healthzPort})`,
        healthzPort,
      ),
    ],
    'Logging and inspection': [
      ...loggingFlags(defaults),
      flag(
        '--live',
        'on a terminal, a table of the pods that is kept up to date, with the latest log lines below (default: log lines)',
      ),
      flag(
        '--inspect [HOST:PORT]',
        `show every actor in Stately's inspector, for which the browser has to reach https://stately.ai; --ui needs no other site (default: ${inspect.host}:${inspect.port}); with NAMESPACE/POD in its place those of one pod`,
        inspected(inspect.port),
      ),
      flag(
        '--ui [HOST:PORT]',
        `serve the page that shows the node and its pods (default: ${ui.host}:${ui.port})`,
        endpoint(ui.port),
      ),
      flag(
        '--flight-recorder-size <SIZE>',
        `how much disk the record of all transitions may take, 0 for none (default: ${bytes.show(DEFAULTS.flightRecorderBytes)})`,
        recorderSize,
      ),
      flag(
        '--inspect-only <NAMESPACE/POD>',
        "show only the actors of this pod in Stately's inspector; implies --inspect",
        inspectedPod,
      ),
    ],
    Stopping: [flag('--exit-with-pods', 'end the pods before the daemon stops (default: they keep running)')],
  };
}

function loggingFlags({ loggingFormat }: DefaultsByName): readonly Option[] {
  return [
    flag(
      '-v, --v <LEVEL>',
      `0-3 info, 4-5 debug, 6-10 trace (default: ${DEFAULTS.verbosity})`,
      wholeNumber(MAX_VERBOSITY),
    ),
    flag(
      '--logging-format <FORMAT>',
      `text, json, or auto: text on a terminal, JSON lines elsewhere (default: ${loggingFormat})`,
      format,
    ),
  ];
}

/** The kubelet's, of the releases that had `--runonce`. */
export const RUN_ONCE_DEFAULTS = { maxRetries: 10, retryDelayMs: 1_000 } as const;

function retryFlags(): readonly Option[] {
  const { maxRetries, retryDelayMs } = RUN_ONCE_DEFAULTS;
  return [
    flag(
      '--max-retries <N>',
      `how often a pod that does not run is tried again (default: ${maxRetries})`,
      wholeNumber(),
    ),
    flag(
      '--retry-delay <DURATION>',
      `delay before the first retry, then doubled each time ${by(retryDelayMs)}`,
      frequency,
    ),
  ];
}

/** Also a flag of the commands that ask a daemon, which find it there. */
export function rootDirFlag(byDefault = lookedFor()): Option {
  return flag('--root-dir <DIR>', `where state is kept (default: ${byDefault})`);
}

function lookedFor(): string {
  return `$${ROOT_DIR_VARIABLE}, or ${OWN_FOLDER} in the working folder, or ${defaultRootDir(thisHost())}`;
}

function by(durationMs: number): string {
  return `(default: ${shortDuration(durationMs)})`;
}

function wholeNumber(most = 2 ** 31 - 1) {
  return (value: string): number => {
    const text = value.replace(/^=/u, ''); // -v=2, as klog takes it
    const number = /^\d+$/u.test(text) ? Number(text) : NaN;
    if (number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`);
  };
}

function frequency(value: string): number {
  const durationMs = parseDuration(value);
  if (durationMs !== undefined && durationMs >= 1 && durationMs <= MAX_DURATION_MS) return durationMs;
  throw new InvalidArgumentError(
    `It must be a duration such as 1m30s, from 1ms to ${shortDuration(MAX_DURATION_MS)}.`,
  );
}

const RECORD_LEAST = 2 ** 20;

function recorderSize(value: string): number {
  const size = bytes.fromText(value);
  if (size === 0 || (size !== undefined && size >= RECORD_LEAST && Number.isSafeInteger(size))) return size;
  throw new InvalidArgumentError('It must be a size such as 64Mi, at least 1Mi, or 0 for none.');
}

function format(value: string): LogFormat {
  if (value === 'auto' || value === 'text' || value === 'json') return value;
  throw new InvalidArgumentError('It must be auto, text or json.');
}

function embeddedVolumes(value: string): EmbeddedVolumes {
  const how = EMBEDDED_VOLUMES.find((known) => known === value);
  if (how !== undefined) return how;
  throw new InvalidArgumentError(`It must be ${EMBEDDED_VOLUMES.join(' or ')}.`);
}

/** As with the kubelet, an empty text means not given. */
function httpURL(value: string): string {
  if (value === '' || isHttpURL(value)) return value;
  throw secretFlagError('--manifest-url', 'must be an http or https URL');
}

function podsLocation(value: string, previous: readonly string[] = []): readonly string[] {
  if (value === '') throw new InvalidArgumentError('It must be a file, a folder, or an http or https URL.');
  if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(value) && !isHttpURL(value))
    throw secretFlagError('--pods', 'must be a file, a folder, or an http or https URL');
  return [...previous, value];
}

function ipAddress(value: string): string {
  if (isIP(value) !== 0) return value;
  throw new InvalidArgumentError('It must be an IP address.');
}

function port(text: string): number {
  const number = /^\d+$/u.test(text) ? Number(text) : NaN;
  return number <= 65_535 ? number : NaN;
}

function healthzPort(value: string): number | 'auto' {
  if (value === 'auto') return value;
  const number = port(value);
  if (!Number.isNaN(number)) return number;
  throw new InvalidArgumentError(
    'It must be a port from 1 to 65535, "auto" for any free one, or 0 for none.',
  );
}

/** `HOST:PORT`, `[::1]:PORT`, `PORT` or `HOST`; 0 takes any free port. */
export function endpoint(defaultPort: number) {
  return (value: string): Endpoint => {
    const text = /^\d+$/u.test(value) ? `:${value}` : value;
    const [, bracketed, name, portText] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/u.exec(text) ?? [];
    const host = isIP(value) === 6 ? value : (bracketed ?? name);
    const number = portText === undefined ? defaultPort : port(portText);
    if (host !== undefined && !Number.isNaN(number))
      return { host: host === '' ? DEFAULTS.inspect.host : host, port: number };
    throw new InvalidArgumentError(`It must be HOST:PORT, such as 127.0.0.1:${defaultPort}.`);
  };
}

/** An address never has a slash. */
function inspected(defaultPort: number) {
  const address = endpoint(defaultPort);
  return (value: string): Endpoint | InspectedPod =>
    value.includes('/') ? inspectedPod(value) : address(value);
}

/** A namespace is needed: `--inspect web` names a host. */
function inspectedPod(value: string): InspectedPod {
  const [, namespace, name] = /^([-a-z0-9]+)\/([-.a-z0-9]+)$/u.exec(value) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new InvalidArgumentError('It must be NAMESPACE/POD, such as default/web.');
}

/** Unlike commander's own error this does not repeat the value, which may hold a password. */
function secretFlagError(name: string, rule: string): StateletError {
  return new StateletError('InvalidArgument', `${name} ${rule}`);
}

type Headers = Readonly<Record<string, readonly string[]>>;

/** `a:hello,b:again`, as in the kubelet: a name may come several times. */
function header(value: string, previous: Headers | undefined): Headers {
  if (value === '') return previous ?? {};
  const pairs = value.split(',').map((pair) => /^([^:]+):(.*)$/su.exec(pair.trim()));
  return pairs.reduce<Headers>((headers, pair) => {
    const [, name, content] = pair ?? [];
    if (name === undefined || content === undefined)
      throw secretFlagError('--manifest-url-header', 'must be NAME:VALUE');
    const key = name.trim();
    return { ...headers, [key]: [...(headers[key] ?? []), content.trim()] };
  }, previous ?? {});
}
