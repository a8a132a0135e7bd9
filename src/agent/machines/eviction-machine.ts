/**
 * How a node is kept from running out of memory, disk and process IDs, as a statechart: one actor per node. Which resource is short and which pod is
 * evicted for it is decided by src/agent/policies/eviction/pass.ts. Pods end by `SyncPodKill` alone (I9), and no pod is evicted until the pods that
 * were evicted before have ended and been cleaned up.
 *
 * The actor promises:
 * - `measureMemory` and `measureEverything` are answered by one EVALUATED or OBSERVATION_FAILED, from figures that are taken later than the request;
 *   after `hurryMeasurement`, from the figures that are known at once;
 * - `reclaimNode` is answered by one NODE_RECLAIMED, unless memory is measured first;
 * - `rankPods` is answered by one RANKED or RELIEVED;
 * - each evicted pod is answered by one POD_ENDED, or by one POD_FAILED when its end takes too long;
 * - CLEANED_UP is sent when everything of the evicted pods has been released, but only after `awaitCleanup`;
 * - POD_ENDED and POD_GONE are sent for every pod, evicted or not; the watches of memory and pressure send the rest;
 * - after STOP nothing is sent. The conditions of the node stay as they were.
 */
import { evictionSetup, INITIAL_CONTEXT, type OfCondition } from './eviction-setup.ts';

export type { EvictionContext, EvictionEvent } from './eviction-setup.ts';

const MEMORY: OfCondition = { condition: 'MemoryPressure' };
const DISK: OfCondition = { condition: 'DiskPressure' };
const PID: OfCondition = { condition: 'PIDPressure' };

export const evictionMachine = evictionSetup.createMachine({
  id: 'eviction',
  description: 'Ends pods before the node runs out of a resource',
  context: INITIAL_CONTEXT,
  type: 'parallel',
  on: {
    POD_GONE: { actions: ['forgetUnendable'] },
  },
  states: {
    Pass: {
      description: 'The node is measured once, and a resource that is short is reclaimed',
      initial: 'Observing',
      on: { STOP: { target: '.Stopped' } },
      states: {
        Observing: {
          description:
            'The node is not being measured. The regions of Schedule say when memory or everything is due to be measured',
          always: [
            { guard: 'isMemoryDue', target: 'Evaluating.Memory' },
            { guard: 'isEverythingDue', target: 'Evaluating.Everything' },
          ],
        },
        Evaluating: {
          description: 'The node is being measured, and the figures are compared with the thresholds',
          initial: 'Everything',
          states: {
            Memory: {
              description:
                'Memory is being measured. That takes no time, since neither the runtime nor a disk is read',
              entry: ['raiseMeasuringMemory', 'measureMemory'],
            },
            Everything: {
              entry: ['raiseMeasuringEverything', 'measureEverything'],
              on: {
                MEMORY_SHORT: {
                  description:
                    'Goes on with the figures that are known: memory does not wait for a slow disk',
                  actions: ['hurryMeasurement'],
                },
                MEMORY_STALLED: { actions: ['hurryMeasurement'] },
                POD_ENDED: { guard: 'isShortOfMemory', actions: ['hurryMeasurement'] },
              },
            },
          },
          on: {
            EVALUATED: [
              {
                description:
                  'Pods that exceed limits of their own are evicted first, whichever resource is short',
                guard: 'isOverLimit',
                actions: ['recordEvaluation', 'recordOverLimit'],
                target: 'Evicting',
              },
              {
                guard: 'mustReclaimNode',
                actions: ['recordEvaluation', 'reportShortage'],
                target: 'ReclaimingNode',
              },
              { guard: 'isShort', actions: ['recordEvaluation', 'reportShortage'], target: 'Ranking' },
              { actions: ['recordEvaluation'], target: 'Observing' },
            ],
            OBSERVATION_FAILED: { actions: ['reportFailedObservation'], target: 'Observing' },
          },
        },
        ReclaimingNode: {
          description:
            'Dead containers and unused images are removed before any pod; then the node is measured again',
          entry: ['reclaimNode'],
          always: {
            description: 'Memory has become short, and does not wait for the removal',
            guard: 'isMemoryDue',
            target: 'Evaluating.Memory',
          },
          on: {
            NODE_RECLAIMED: [
              { guard: 'isRelieved', actions: ['recordReclaim'], target: 'Observing' },
              { actions: ['recordReclaim'], target: 'Ranking' },
            ],
          },
        },
        Ranking: {
          description: 'The pods are measured, and put in the order in which they would be evicted',
          entry: ['rankPods'],
          on: {
            RANKED: [
              {
                guard: 'hasVictim',
                actions: ['recordChoice', 'recordVictim', 'reportChoice'],
                target: 'Evicting',
              },
              {
                description: 'No pod may be evicted, or eviction waits for a pod that is ending already',
                actions: ['recordChoice', 'reportChoice'],
                target: 'Observing',
              },
            ],
            RELIEVED: { actions: ['recordRelief'], target: 'Observing' },
          },
        },
        Evicting: {
          description: 'Waits until each evicted pod has ended, or has taken too long',
          entry: ['endPods'],
          on: {
            POD_ENDED: [
              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'CleaningUp' },
              { guard: 'isAwaited', actions: ['recordEnd'] },
            ],
            POD_FAILED: [
              {
                description: 'No pod has ended: there is nothing to clean up',
                guard: 'isLastAndNoneHasEnded',
                actions: ['recordFailure', 'reportFailedPod'],
                target: 'Observing',
              },
              {
                guard: 'isLastAwaited',
                actions: ['recordFailure', 'reportFailedPod'],
                target: 'CleaningUp',
              },
              { guard: 'isAwaited', actions: ['recordFailure', 'reportFailedPod'] },
            ],
          },
        },
        CleaningUp: {
          description:
            'Volumes and cgroups of the evicted pods are being removed: until then the disk looks fuller than it will be',
          entry: ['awaitCleanup'],
          after: { cleanupPatience: { actions: ['raiseCleanedUp'] } },
          on: {
            CLEANED_UP: { target: 'Observing' },
          },
        },
        Stopped: {},
      },
    },
    Schedule: {
      description:
        'When memory and everything are due to be measured. A measurement that comes due during a pass follows the pass',
      type: 'parallel',
      states: {
        Memory: {
          description: 'When memory alone is measured',
          initial: 'NotDue',
          on: {
            MEMORY_SHORT: { actions: ['beginDoubt'], target: '.Due' },
            MEMORY_ENOUGH: { actions: ['endDoubt'] },
            MEMORY_STALLED: { target: '.Due' },
            POD_ENDED: { guard: 'isShortOfMemory', actions: ['endDoubt'], target: '.Due' },
            POD_FAILED: { guard: 'isShortOfMemory', actions: ['endDoubt'], target: '.Due' },
            CLEANED_UP: { guard: 'isShortOfMemory', actions: ['endDoubt'], target: '.Due' },
            STOP: { target: '.Stopped' },
          },
          states: {
            NotDue: {},
            Due: {
              on: { MEASURING_MEMORY: { target: 'Measuring' } },
            },
            Measuring: {
              on: {
                EVALUATED: [
                  { guard: 'showsMemoryShort', target: 'Confirmed' },
                  { guard: 'hasDoubtsLeft', target: 'InDoubt' },
                  { target: 'NotDue' },
                ],
                OBSERVATION_FAILED: [{ guard: 'hasDoubtsLeft', target: 'InDoubt' }, { target: 'NotDue' }],
              },
            },
            Confirmed: {
              description: 'The figures show that memory is short',
              on: {
                RELIEVED: {
                  description:
                    'By the figures for the ranking memory is not short any more; it may be again a moment later',
                  guard: 'hasDoubtsLeft',
                  target: 'InDoubt',
                },
              },
            },
            InDoubt: {
              description:
                'The watch reported that memory is short, but the figures do not show it: memory is measured again soon',
              entry: ['spendDoubt'],
              after: { doubt: { target: 'Due' } },
              on: {
                MEMORY_ENOUGH: { actions: ['endDoubt'], target: 'NotDue' },
                EVALUATED: { guard: 'showsMemoryShort', target: 'Confirmed' },
              },
            },
            Stopped: {},
          },
        },
        Everything: {
          description:
            'When memory, disks and process IDs are measured, and the local storage of pods that have limits for it',
          initial: 'Waiting',
          on: {
            IO_STALLED: { target: '.Due' },
            POD_ENDED: { guard: 'isShortOfOther', target: '.Due' },
            POD_FAILED: { guard: 'isNotShortOfMemory', target: '.Due' },
            CLEANED_UP: { guard: 'isNotShortOfMemory', target: '.Due' },
            STOP: { target: '.Stopped' },
          },
          states: {
            Waiting: {
              description: 'The next measurement waits until a period is over',
              after: { period: { target: 'Due' } },
            },
            Due: {
              on: { MEASURING_EVERYTHING: { target: 'Measuring' } },
            },
            Measuring: {
              description: 'A pass is under way: the period begins after it',
              always: { guard: 'isObserving', target: 'Waiting' },
              on: {
                MEASURING_MEMORY: {
                  description: 'A pass for memory alone begins before this pass is over',
                  target: 'Waiting',
                },
              },
            },
            Stopped: {},
          },
        },
      },
    },
    Pressure: {
      description: 'The pressure conditions of the node',
      type: 'parallel',
      states: {
        Memory: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: MEMORY },
                  actions: [{ type: 'reportPressure', params: MEMORY }],
                  target: 'Present',
                },
              },
            },
            Present: {
              tags: ['MemoryPressure'],
              on: {
                EVALUATED: {
                  guard: { type: 'isOver', params: MEMORY },
                  actions: [{ type: 'reportNoPressure', params: MEMORY }],
                  target: 'Absent',
                },
              },
              initial: 'Observed',
              states: {
                Observed: {
                  on: { EVALUATED: { guard: { type: 'isLingering', params: MEMORY }, target: 'Lingering' } },
                },
                Lingering: {
                  description: 'The pressure is over, but its transition period is not',
                  on: { EVALUATED: { guard: { type: 'isObserved', params: MEMORY }, target: 'Observed' } },
                },
              },
            },
          },
        },
        Disk: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: DISK },
                  actions: [{ type: 'reportPressure', params: DISK }],
                  target: 'Present',
                },
              },
            },
            Present: {
              tags: ['DiskPressure'],
              on: {
                EVALUATED: {
                  guard: { type: 'isOver', params: DISK },
                  actions: [{ type: 'reportNoPressure', params: DISK }],
                  target: 'Absent',
                },
              },
              initial: 'Observed',
              states: {
                Observed: {
                  on: { EVALUATED: { guard: { type: 'isLingering', params: DISK }, target: 'Lingering' } },
                },
                Lingering: {
                  description: 'The pressure is over, but its transition period is not',
                  on: { EVALUATED: { guard: { type: 'isObserved', params: DISK }, target: 'Observed' } },
                },
              },
            },
          },
        },
        PID: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: PID },
                  actions: [{ type: 'reportPressure', params: PID }],
                  target: 'Present',
                },
              },
            },
            Present: {
              tags: ['PIDPressure'],
              on: {
                EVALUATED: {
                  guard: { type: 'isOver', params: PID },
                  actions: [{ type: 'reportNoPressure', params: PID }],
                  target: 'Absent',
                },
              },
              initial: 'Observed',
              states: {
                Observed: {
                  on: { EVALUATED: { guard: { type: 'isLingering', params: PID }, target: 'Lingering' } },
                },
                Lingering: {
                  description: 'The pressure is over, but its transition period is not',
                  on: { EVALUATED: { guard: { type: 'isObserved', params: PID }, target: 'Observed' } },
                },
              },
            },
          },
        },
      },
    },
  },
});
