/** `statelet get`: pods, what they refer to, and the node, as `kubectl get` shows them. */
import { STATE_ANNOTATION } from '../../agent/server/routes/local-routes.ts';
import type { PodChange } from '../../agent/server/routes/watch-pods.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { byNamespaceAndName, POD_COLUMNS, podRow, WIDE_COLUMNS, wideCells } from '../pod-row.ts';
import { SteadyTable } from '../table.ts';
import { findPod, notFound, parsePodName, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, withDaemon } from './daemon-connection.ts';
import {
  type DocumentFormat,
  documentOf,
  type GetFlags,
  type GetOutput,
  isDocument,
  isWithin,
  labelCells,
  labelHeads,
  noResources,
  sortedObjects,
} from './get-output.ts';
import { fieldSelector } from './field-selector.ts';
import { labelSelector } from './label-selector.ts';
import { namedObjects } from './named-objects.ts';

/** `signal` ends a watch. Rejects with `NotFound` after those that were found have been written. */
export async function get(
  words: readonly string[],
  flags: GetFlags,
  output: GetOutput,
  { signal, now = Date.now }: { readonly signal?: AbortSignal; readonly now?: () => number } = {},
): Promise<void> {
  const objects = namedObjects(words);
  const { names } = objects;
  if (names.length > 0 && flags.allNamespaces === true)
    throw new StateletError('InvalidArgument', 'nothing can be named across all namespaces: leave out -A');
  const [isSelected, hasFields] = [labelSelector(flags.selector), fieldSelector(flags.fieldSelector)];
  const shown = new ShownPods(flags, output, now);
  await withDaemon(flags, async (daemon) => {
    if (objects.type === 'nodes') {
      const { getNodes } = await import('./get-nodes.ts');
      return getNodes(daemon, names, flags, output, now());
    }
    if (objects.type !== 'pods') {
      const { getObjects } = await import('./get-objects.ts');
      return getObjects(daemon, objects, flags, output, now());
    }
    const pods = await podsOf(daemon);
    // As they were named, as kubectl shows them.
    const { found, problem } =
      names.length > 0 ? named(pods, names, flags) : { found: pods.toSorted(byNamespaceAndName) };
    const isWanted = names.length > 0 ? isOneOf(found) : (pod: Pod) => isWithin(pod, flags);
    const wanted = (pod: Pod) => isWanted(pod) && isSelected(pod.metadata.labels) && hasFields(pod);
    if (flags.watch !== true && flags.watchOnly !== true) {
      await shown.list(found.filter(wanted), names.length === 1);
      if (problem !== undefined) throw problem;
      return;
    }
    if (problem !== undefined) throw problem;
    await watch(daemon, { shown, wanted, isNewOnly: flags.watchOnly === true, signal });
  });
}

interface Watching {
  readonly shown: ShownPods;
  readonly wanted: (pod: Pod) => boolean;
  readonly isNewOnly: boolean;
  readonly signal: AbortSignal | undefined;
}

async function watch(
  daemon: DaemonConnection,
  { shown, wanted, isNewOnly, signal }: Watching,
): Promise<void> {
  const present: Pod[] = [];
  let arePresentShown = false;
  for await (const { type, object } of daemon.watch<PodChange>('/watch/pods', signal)) {
    if (type === 'BOOKMARK') {
      if (!isNewOnly) await shown.begin(present.sort(byNamespaceAndName));
      shown.know(present);
      arePresentShown = true;
    } else if (wanted(object as Pod)) {
      if (arePresentShown) await shown.change(object as Pod);
      else present.push(object as Pod);
    }
  }
}

interface Found {
  readonly found: readonly Pod[];
  readonly problem?: StateletError;
}

function named(pods: readonly Pod[], names: readonly string[], flags: GetFlags): Found {
  const wanted = names.map((text) => parsePodName(text, flags));
  const found = wanted.flatMap((name) => findPod(pods, name) ?? []);
  const missing =
    flags.ignoreNotFound === true ? [] : wanted.filter((name) => findPod(pods, name) === undefined);
  if (missing.length === 0) return { found };
  const messages = missing.map((name) => notFound(pods, name).message);
  return { found, problem: new StateletError('NotFound', messages.join('\n')) };
}

function isOneOf(found: readonly Pod[]): (pod: Pod) => boolean {
  return ({ metadata: { namespace, name } }) =>
    found.some(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

class ShownPods {
  readonly #flags: GetFlags;
  readonly #output: GetOutput;
  readonly #now: () => number;
  readonly #table: SteadyTable;
  /** What was shown last of each pod that is watched, without its age. */
  readonly #last = new Map<string, string>();
  #isHeaded = false;

  constructor(flags: GetFlags, output: GetOutput, now: () => number) {
    this.#flags = flags;
    this.#output = output;
    this.#now = now;
    this.#table = new SteadyTable(flags.headers === false ? undefined : columnsOf(flags));
  }

  /** `isSingle`: one was named, and is shown by itself, not in a list. */
  async list(pods: readonly Pod[], isSingle: boolean): Promise<void> {
    const { output } = this.#flags;
    const sorted = await sortedObjects(pods, this.#flags);
    if (isDocument(output)) {
      this.#output.write(await this.#document(sorted, output, isSingle));
    } else if (sorted.length === 0) {
      if (!isSingle) this.#output.tell(noResources(this.#flags));
    } else if (output === 'name') {
      this.#output.write(sorted.map(nameLine).join(''));
    } else {
      this.#output.write(this.#table.add(sorted.map((pod) => this.#row(pod))));
    }
  }

  /** One after another, with one heading above custom columns. */
  async #document(pods: readonly Pod[], output: DocumentFormat, isSingle: boolean): Promise<string> {
    const hasHeaders = this.#flags.headers !== false && !this.#isHeaded;
    this.#isHeaded = true;
    return documentOf(pods.map(withKind), output, { isSingle, hasHeaders });
  }

  /** Before a watch. Documents come one by one there, as kubectl writes them. */
  async begin(pods: readonly Pod[]): Promise<void> {
    const { output } = this.#flags;
    if (isDocument(output)) for (const pod of pods) await this.change(pod);
    else if (pods.length > 0) await this.list(pods, false);
  }

  /** Notes pods, which are not shown before they change. */
  know(pods: readonly Pod[]): void {
    for (const pod of pods) this.#last.set(pod.metadata.uid, this.#look(pod));
  }

  async change(pod: Pod): Promise<void> {
    const { output } = this.#flags;
    if (isDocument(output)) {
      this.#output.write(await this.#document([pod], output, true));
      return;
    }
    const look = this.#look(pod);
    if (this.#last.get(pod.metadata.uid) === look) return;
    this.#last.set(pod.metadata.uid, look);
    this.#output.write(output === 'name' ? nameLine(pod) : this.#table.add([this.#row(pod)]));
  }

  /** All that a row shows but its age, which changes by itself. */
  #look(pod: Pod): string {
    return this.#row(pod)
      .with(this.#flags.allNamespaces === true ? AGE : AGE - 1, '')
      .join('\0');
  }

  #cells(pod: Pod): readonly string[] {
    const state = pod.metadata.annotations?.[STATE_ANNOTATION];
    return podRow({ pod, state, waitsFor: undefined }, this.#now());
  }

  #row(pod: Pod): readonly string[] {
    const { allNamespaces, output } = this.#flags;
    return [
      ...this.#cells(pod).slice(allNamespaces === true ? 0 : 1, AGE + 1),
      ...(output === 'wide' ? [...wideCells(pod), '<none>', gatesOf(pod)] : []),
      ...labelCells(pod.metadata.labels, this.#flags),
    ];
  }
}

const AGE = POD_COLUMNS.indexOf('AGE');

/** kubectl has no column for the state of the chart. */
function columnsOf(flags: GetFlags): readonly string[] {
  const { allNamespaces, output } = flags;
  return [
    ...POD_COLUMNS.slice(allNamespaces === true ? 0 : 1, AGE + 1),
    ...(output === 'wide' ? [...WIDE_COLUMNS, 'NOMINATED NODE', 'READINESS GATES'] : []),
    ...labelHeads(flags),
  ];
}

function gatesOf({ spec, status }: Pod): string {
  const { readinessGates = [] } = spec;
  const isTrue = (type: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True');
  if (readinessGates.length === 0) return '<none>';
  return `${readinessGates.filter(({ conditionType }) => isTrue(conditionType)).length}/${readinessGates.length}`;
}

function nameLine({ metadata: { name } }: Pod): string {
  return `pod/${name}\n`;
}

function withKind(pod: Pod): object {
  return { ...pod, apiVersion: 'v1', kind: 'Pod' };
}
