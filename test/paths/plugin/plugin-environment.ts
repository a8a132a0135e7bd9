/** The events of a plugin's chart: from its registration, from the answers to questions, and from the folder of sockets. */
import type { SnapshotFrom } from 'xstate';
import { type PluginEvent, pluginMachine } from '../../../src/agent/machines/plugin-machine.ts';
import { after } from '../../support/child-events.ts';
import type { Environment } from '../paths.ts';

export type PluginSnapshot = SnapshotFrom<typeof pluginMachine>;

export const PATHS = { first: '/registry/rss.sock', other: '/registry/other.sock' };
const NOW = Date.UTC(2030, 0, 1);

export const EVENTS = {
  accepted: { type: 'ACCEPTED', name: 'rss' },
  refused: {
    type: 'REFUSED',
    name: 'rss',
    problem: 'plugin validation failed with err: supported here: v1alpha1; supported by the plugin: v1',
  },
  notAnswered: { type: 'NOT_ANSWERED', problem: 'connection refused' },
  told: { type: 'TOLD', now: NOW },
  notTold: { type: 'NOT_TOLD', problem: 'unimplemented', now: NOW },
  retry: after('retry', 'plugin.Registering.BackingOff'),
  stop: { type: 'STOP' },
  answered: { type: 'ANSWERED', now: NOW },
  failed: { type: 'FAILED', problem: 'timeout', now: NOW },
  answeredNonsense: { type: 'FAILED', problem: 'nonsense', now: NOW },
  socketGone: { type: 'SOCKET_GONE', now: NOW },
  replaced: { type: 'REPLACED', by: PATHS.other, now: NOW },
} as const satisfies Record<string, PluginEvent>;
export type Name = keyof typeof EVENTS;

const QUESTIONS = ['answered', 'failed', 'answeredNonsense', 'socketGone', 'replaced', 'stop'] as const;
const POSSIBLE: Readonly<Record<string, readonly Name[]>> = {
  'Registering.Asking': ['accepted', 'refused', 'notAnswered', 'socketGone', 'stop'],
  'Registering.Accepting': ['told', 'notTold', 'socketGone', 'stop'],
  'Registering.Refusing': ['told', 'notTold', 'socketGone', 'stop'],
  'Registering.BackingOff': ['retry', 'socketGone', 'stop'],
  Serving: QUESTIONS,
  Failing: QUESTIONS,
  Gone: [],
  Stopped: [],
};

export const pluginEnvironment: Environment<typeof pluginMachine> = {
  machine: pluginMachine,
  input: { origin: PATHS.first, now: NOW },
  events: EVENTS,
  possible: (state) => POSSIBLE[stateName(state)] ?? [],
  label: (state) => [stateName(state), ...Object.values(essence(state))].join(),
};

export function stateName({ value }: Pick<PluginSnapshot, 'value'>): string {
  return typeof value === 'string' ? value : Object.entries(value).flat().join('.');
}

/** What is compared. More than three tries or questions in vain make no difference. */
export function essence({ context: { name, problem, failures } }: PluginSnapshot) {
  return { name, problem, failures: Math.min(failures, 3) };
}
