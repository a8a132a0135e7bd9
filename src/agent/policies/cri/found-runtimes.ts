/** What a look at the usual sockets of CRI runtimes has found, in words. */

/** Where containerd and CRI-O listen, as the kubelet and crictl know it. */
export const USUAL_SOCKETS: readonly string[] = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'];

export interface LookedAt {
  readonly socket: string;
  /** Undefined: there is no such socket. */
  readonly found?: FoundRuntime | { readonly problem: string };
}

export interface FoundRuntime {
  /** As it names itself: `containerd`, `cri-o`. */
  readonly name: string;
  readonly version: string;
}

const FLAG = '--container-runtime-endpoint';

/** One part of a sentence for each socket. */
export function lookedAtText(all: readonly LookedAt[]): string {
  return all.map(textOf).join(', ');
}

function textOf({ socket, found }: LookedAt): string {
  if (found === undefined) return `there is no ${socket}`;
  if ('problem' in found) return `${socket} cannot be used (${found.problem})`;
  return `${found.name} ${found.version} answers at ${socket}`;
}

/** The flags that choose a runtime that answers; undefined where none does. */
export function choiceText(all: readonly LookedAt[]): string | undefined {
  const choices = all.flatMap(({ socket, found }) =>
    found !== undefined && 'name' in found ? [`${FLAG}=unix://${socket}`] : [],
  );
  return choices.length === 0 ? undefined : choices.join(' or ');
}

/** For the start of an agent without a setting for the runtime; undefined where there is no socket. */
export function startText(all: readonly LookedAt[]): string | undefined {
  const there = all.filter(({ found }) => found !== undefined);
  if (there.length === 0) return undefined;
  const choice = choiceText(there);
  const images = choice === undefined ? '' : `: ${choice} runs images with it`;
  return `Pods run as plain processes (${FLAG}=embedded); ${lookedAtText(there)}${images}`;
}

/** Why a container with an image and no command cannot run as a plain process, and what would run it. */
export function imageText(all: readonly LookedAt[]): string {
  const choice = choiceText(all);
  const mend =
    choice === undefined
      ? 'docs/nginx.md says how to get one'
      : `start statelet with ${choice} (see docs/nginx.md)`;
  return `images need a container runtime: ${lookedAtText(all)}; ${mend}`;
}
