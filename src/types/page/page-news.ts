/** What the agent tells the page. */
import type { CoreEvent } from '../kubernetes.ts';
import type { Transition } from '../transition.ts';
import type { ActorView, NodeView, PodRow, PodView } from './page-views.ts';

/** One message of a stream. A list leaves out what has not changed. */
export type PageNews =
  | { readonly type: 'hello'; readonly nowMs: number; readonly node: NodeView; readonly total: number }
  | { readonly type: 'node'; readonly node: NodeView }
  | { readonly type: 'pods'; readonly rows: readonly PodRow[]; readonly gone: readonly string[] }
  /** The actors of the chart, or the pod, that is looked at. */
  | { readonly type: 'actors'; readonly actors: readonly ActorView[] }
  /** Null for a pod that is not here. `sentences` say what is known of it; `events` are those of one that was here. */
  | {
      readonly type: 'pod';
      readonly pod: PodView | null;
      readonly sentences: readonly string[];
      readonly events?: readonly CoreEvent[];
    }
  /** What was recorded of it before the page was opened, the oldest first. */
  | { readonly type: 'past'; readonly transitions: readonly Transition[] }
  /** `lost`: how many were left out because the browser did not keep up. */
  | { readonly type: 'transitions'; readonly transitions: readonly Transition[]; readonly lost: number };
