/** Admission and preemption, broken. */
import type { Mutant } from './mutant.ts';

const CHART = 'src/machines/preemption-machine.ts';
const PREEMPTIONS = 'src/actors/start/preemptions.ts';
const END_LIMITS = 'src/actors/start/end-limits.ts';
const ADMISSION = 'src/actors/start/pod-admission.ts';
const LEDGER = 'src/actors/start/resource-ledger.ts';
const STARTS = 'src/actors/start/pod-starts.ts';
const SUPERVISOR = 'src/actors/supervisor.ts';
const PLAN = 'src/policies/preemption/victim-plan.ts';
const PROMISES = 'src/policies/preemption/promised-room.ts';
const KINDS = 'src/policies/pod/pod-kinds.ts';
const TEXTS = 'src/policies/preemption/preemption-message.ts';

export const ROOM_MUTANTS: readonly Mutant[] = [
  // Who holds what
  {
    name: 'admitted-without-looking',
    breaks: 'Pods start whether there is room for them or not (admission)',
    file: STARTS,
    find: `    if (this.#options.admission.admits(request)) registry`,
    replace: `    if ((this.#options.admission.admits(request), true)) registry`,
  },
  {
    name: 'ending-pods-hold-nothing',
    breaks: 'A pod that has been asked to end holds nothing any more, though it still runs (admission)',
    file: ADMISSION,
    find: `    if (others.length === 0) return admitPod(node, pod, this.#ledger);
    return admitPodBeside(node, pod, this.#ledger.holders(), this.#room());`,
    replace: `    const { ending, promisedTo } = this.#room();
    const isGone = ({ metadata }: Pod) => others.length >= 0 && ending.has(metadata.uid);
    const holders = this.#ledger.holders().filter((holder) => !isGone(holder));
    return admitPodBeside(node, pod, holders, { ending, promisedTo });`,
  },
  {
    name: 'room-never-given-back',
    breaks: 'What a pod held is not free once it has ended (admission)',
    file: ADMISSION,
    find: `    const hasFreed = this.#ledger.remove(uid);`,
    replace: `    const hasFreed = this.#ledger.has(uid);`,
  },
  {
    name: 'ports-never-given-back',
    breaks: 'The ports of a pod are not free once it has ended (admission)',
    file: LEDGER,
    find: `    if (rest.length > 0) this.#ports.set(port.hostPort, rest);
    else this.#ports.delete(port.hostPort);`,
    replace: `    if (rest.length > 0) this.#ports.set(port.hostPort, rest);`,
  },
  {
    name: 'running-pods-hold-nothing',
    breaks: 'What runs when the agent starts must find room as if it came anew (admission, I10)',
    file: SUPERVISOR,
    find: `      if (this.#runs(uid)) this.#admission.adopt(pod);`,
    replace: ``,
  },
  {
    name: 'waiting-never-retried',
    breaks: 'A static pod that waits for room does not get it when there is some (I7)',
    file: ADMISSION,
    find: `    for (const other of waiting) this.#askAgain(other);`,
    replace: `    if (waiting.length < 0) this.#askAgain('');`,
  },

  // Who goes for whom
  {
    name: 'equal-may-preempt',
    breaks: 'A pod pushes out others that are as important (preemption)',
    file: KINDS,
    find: `ours > theirs;`,
    replace: `ours >= theirs;`,
  },
  {
    name: 'room-chosen-twice',
    breaks: 'What is being freed already does not count: others go as well (preemption)',
    file: PLAN,
    find: `  const room = { ...facts.room, ending: without(facts.room.ending, unendable) };`,
    replace: `  const room = { ...facts.room, ending: new Set<string>() };`,
  },
  {
    name: 'unendable-chosen-again',
    breaks: 'A pod that does not end is chosen again and again (preemption)',
    file: CHART,
    find: `        event.type === 'VICTIM_FAILED' ? [...context.unendable, event.uid] : context.unendable,`,
    replace: `        event.type === 'VICTIM_FAILED' ? [] : context.unendable,`,
  },
  {
    name: 'unendable-are-candidates',
    breaks: 'A pod that does not end is asked to end once more (preemption)',
    file: PLAN,
    find: `!room.ending.has(uid) && !unendable.has(uid));`,
    replace: `!room.ending.has(uid));`,
  },
  {
    name: 'victims-not-killed',
    breaks: 'Those that are to go are told of, and not ended (I9)',
    file: PREEMPTIONS,
    find: `      kill(candidate.uid, PREEMPTION_KILL);`,
    replace: ``,
  },
  {
    name: 'victims-without-reason',
    breaks: 'Those that go do not say why (rule 5)',
    file: TEXTS,
    find: `    reason: PREEMPTING,
    message`,
    replace: `    reason: 'Evicted',
    message`,
  },

  // Waiting for them
  {
    name: 'no-time-limit',
    breaks: 'A pod that does not end is waited for without limit (preemption)',
    file: END_LIMITS,
    find: `this.#clock.setTimeout(over, patienceMs)`,
    replace: `this.#clock.setTimeout(over, patienceMs * 100)`,
  },
  {
    name: 'first-end-is-enough',
    breaks: 'When one of several has ended, the others are not waited for (preemption)',
    file: CHART,
    find: `context.awaited.every((uid) => uid === event.uid),`,
    replace: `context.awaited.some((uid) => uid === event.uid),`,
  },
  {
    name: 'ends-unheard',
    breaks: 'Who makes room does not hear that a pod has ended (preemption)',
    file: ADMISSION,
    find: `    this.#preemptions.ended(uid);`,
    replace: ``,
  },
  {
    name: 'preemptor-not-told-gone',
    breaks: 'Room is kept for a pod that is gone (preemption)',
    file: PREEMPTIONS,
    find: `    this.#makings.get(uid)?.actor.send({ type: 'PREEMPTOR_GONE' });`,
    replace: ``,
  },
  {
    name: 'short-counts-as-admitted',
    breaks: 'A pod for which there is not enough room yet is taken for admitted (preemption)',
    file: PREEMPTIONS,
    find: `  if (admission.kind === 'admitted') return { type: 'ADMITTED' };`,
    replace: `  if (admission.kind !== 'rejected') return { type: 'ADMITTED' };`,
  },

  // Promises
  {
    name: 'promise-forgotten',
    breaks: 'Room that is being made for one pod is given to others (preemption)',
    file: CHART,
    find: `      tags: ['roomPromised'],
      entry: ['reportDecision', 'endVictims'],`,
    replace: `      entry: ['reportDecision', 'endVictims'],`,
  },
  {
    name: 'promise-kept-from-nobody',
    breaks: 'Who comes meanwhile takes what is free, be it promised or not (preemption)',
    file: PROMISES,
    find: `  if (now.kind !== 'admitted' || room.promisedTo.length === 0) return now;
`,
    replace: `  return now;
`,
  },
];
