/** Mutants of admission and preemption. */
import type { Mutant } from './mutant.ts';

const CHART = 'src/agent/machines/preemption-machine.ts';
const PREEMPTIONS = 'src/agent/actors/start/preemptions.ts';
const END_LIMITS = 'src/agent/actors/start/kill-timeouts.ts';
const ADMISSION = 'src/agent/actors/start/room-arbiter.ts';
const RESIZER = 'src/agent/runtime/pods/pod-resizer.ts';
const RESIZES = 'src/agent/actors/resize/pod-resizes.ts';
const LEDGER = 'src/agent/actors/start/resource-ledger.ts';
const DELIVERY = 'src/agent/actors/pods/pod-lifecycle.ts';
const PLAN = 'src/agent/policies/preemption/victim-plan.ts';
const PROMISES = 'src/agent/policies/preemption/victim-plan.ts';
const KINDS = 'src/agent/policies/pod/pod-kinds.ts';
const TEXTS = 'src/agent/policies/preemption/preemption-message.ts';

export const ROOM_MUTANTS: readonly Mutant[] = [
  // Held resources
  {
    name: 'admitted-without-looking',
    breaks: 'Pods are started without admission (admission)',
    file: ADMISSION,
    find: `: this.#decide(request.pod, isRunning, nodeFacts);`,
    replace: `: ({ kind: 'admitted' } as Admission);`,
  },
  {
    name: 'ending-pods-hold-nothing',
    breaks: 'A pod that was told to end holds no resources, though it still runs (admission)',
    file: ADMISSION,
    find: `    if (others.length === 0) return admitPod(node, pod, this.#ledger.besides(uid));
    return admitPodBeside(node, pod, this.#holdersBeside(uid), this.#room());`,
    replace: `    const { ending, promisedTo } = this.#room();
    const isGone = ({ metadata }: Pod) => others.length >= 0 && ending.has(metadata.uid);
    const holders = this.#holdersBeside(uid).filter((holder) => !isGone(holder));
    return admitPodBeside(node, pod, holders, { ending, promisedTo });`,
  },
  {
    name: 'room-never-given-back',
    breaks: 'The resources of a pod are not freed when it has ended (admission)',
    file: ADMISSION,
    find: `    const hasFreed = this.#ledger.remove(uid) || hadParts;`,
    replace: `    const hasFreed = this.#ledger.has(uid) || hadParts;`,
  },
  {
    name: 'ports-never-given-back',
    breaks: 'The host ports of a pod are not freed when it has ended (admission)',
    file: LEDGER,
    find: `    if (rest.length > 0) this.#ports.set(port.hostPort, rest);
    else this.#ports.delete(port.hostPort);`,
    replace: `    if (rest.length > 0) this.#ports.set(port.hostPort, rest);`,
  },
  {
    name: 'running-pods-hold-nothing',
    breaks: 'Pods that run when the agent starts are admitted like new ones (admission, I10)',
    file: DELIVERY,
    find: `      if (holds === 'running') starts.adoptRoom(pod);
`,
    replace: ``,
  },
  {
    name: 'waiting-never-retried',
    breaks: 'A static pod that waits for room is not asked again when room is freed (I7)',
    file: ADMISSION,
    find: `    for (const uid of uids) this.#requests.get(uid)?.answer({ type: 'ROOM_FREED' });`,
    replace: `    void uids;`,
  },

  // The choice of victims
  {
    name: 'equal-may-preempt',
    breaks: 'A pod preempts pods of the same priority (preemption)',
    file: KINDS,
    find: `ours > theirs;`,
    replace: `ours >= theirs;`,
  },
  {
    name: 'room-chosen-twice',
    breaks: 'Room that is being freed already does not count: further victims are chosen (preemption)',
    file: PLAN,
    find: `  const room = { ...facts.room, ending: without(facts.room.ending, unendable) };`,
    replace: `  const room = { ...facts.room, ending: new Set<string>() };`,
  },
  {
    name: 'unendable-chosen-again',
    breaks: 'A victim that does not end is chosen again and again (preemption)',
    file: CHART,
    find: `        event.type === 'VICTIM_FAILED' ? [...context.unendable, event.uid] : context.unendable,`,
    replace: `        event.type === 'VICTIM_FAILED' ? [] : context.unendable,`,
  },
  {
    name: 'unendable-are-candidates',
    breaks: 'A victim that does not end is a candidate again (preemption)',
    file: PLAN,
    find: `!room.ending.has(uid) && !unendable.has(uid));`,
    replace: `!room.ending.has(uid));`,
  },
  {
    name: 'victims-not-killed',
    breaks: 'Victims are reported, but not killed (I9)',
    file: PREEMPTIONS,
    find: `      kill(candidate.uid, PREEMPTION_KILL);`,
    replace: ``,
  },
  {
    name: 'victims-without-reason',
    breaks: 'The status of victims has the wrong reason (rule 5)',
    file: TEXTS,
    find: `    reason: PREEMPTING,
    message`,
    replace: `    reason: 'Evicted',
    message`,
  },

  // Waiting for victims
  {
    name: 'no-time-limit',
    breaks: 'The preemptor waits for a victim without limit (preemption)',
    file: END_LIMITS,
    find: `this.#clock.setTimeout(over, patienceMs)`,
    replace: `this.#clock.setTimeout(over, patienceMs * 100)`,
  },
  {
    name: 'first-end-is-enough',
    breaks: 'The preemptor waits only for the first of several victims (preemption)',
    file: CHART,
    find: `context.awaited.every((uid) => uid === event.uid),`,
    replace: `context.awaited.some((uid) => uid === event.uid),`,
  },
  {
    name: 'ends-unheard',
    breaks: 'The preemption is not told that a victim has ended (preemption)',
    file: ADMISSION,
    find: `    this.#preemptions.ended(uid);`,
    replace: ``,
  },
  {
    name: 'preemptor-not-told-gone',
    breaks: 'Room is kept for a preemptor that is gone (preemption)',
    file: PREEMPTIONS,
    find: `    this.#preemptions.get(uid)?.actor.send({ type: 'PREEMPTOR_GONE' });`,
    replace: ``,
  },
  {
    name: 'short-counts-as-admitted',
    breaks: 'A preemptor for which there is not enough room yet counts as admitted (preemption)',
    file: PREEMPTIONS,
    find: `  if (admission.kind === 'admitted') return { type: 'ADMITTED' };`,
    replace: `  if (admission.kind !== 'rejected') return { type: 'ADMITTED' };`,
  },

  // Promised room
  {
    name: 'promise-forgotten',
    breaks: 'Room that is being made for one pod is not promised to it (preemption)',
    file: CHART,
    find: `      tags: ['roomPromised'],
      entry: ['reportDecision', 'endVictims'],`,
    replace: `      entry: ['reportDecision', 'endVictims'],`,
  },
  {
    name: 'promise-ignored',
    breaks: 'Promised room is given to other pods (preemption)',
    file: PROMISES,
    find: `  if (now.kind !== 'admitted' || room.promisedTo.length === 0) return now;
`,
    replace: `  return now;
`,
  },
  {
    name: 'resize-granted-without-room',
    breaks: 'A resize is granted although the node has no room for it (admission)',
    file: RESIZES,
    find: `    if (infeasible === undefined) return admission.kind === 'admitted' ? undefined : admission;`,
    replace: `    if (infeasible === undefined)
      return admission.kind === 'rejected' && admission.reason === '' ? admission : undefined;`,
  },
  {
    name: 'resize-gives-nothing-back',
    breaks: 'What a resize gives back is not offered to the pods that wait for room (settling)',
    file: ADMISSION,
    find: `    this.#ledger.replace(pod);
    this.offerAll();`,
    replace: `    this.#ledger.replace(pod);`,
  },
  {
    name: 'resize-never-retried',
    breaks: 'A resize that waits is not tried again (I7)',
    file: RESIZES,
    find: `    return !isInfeasible(conditions);`,
    replace: `    return isInfeasible(conditions);`,
  },
  {
    name: 'resize-forgotten',
    breaks: 'What a container was given by a resize is not remembered (I10)',
    file: RESIZER,
    find: `this.#parts.known.note(pod.metadata.uid, id, { given: after })`,
    replace: `this.#parts.known.written(pod.metadata.uid)`,
  },
  {
    name: 'sandbox-record-ignored',
    breaks: 'A next agent takes the spec for what a pod was admitted with (admission, I10)',
    file: RESIZES,
    find: ` ?? seen?.sandboxes[0]?.allocated ?? `,
    replace: ` ?? `,
  },
];
