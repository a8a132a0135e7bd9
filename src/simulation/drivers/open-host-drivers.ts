/** Puts together the drivers of a simulated node, the controllers of its cluster that belong to them, and their judges. */
import { CLAIMS_FILE } from '../../agent/runtime/dra/claims-file.ts';
import { uniqueVolumeName } from '../../agent/policies/volumes/csi-source.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { CsiJudge } from '../judges/csi-judge.ts';
import { DraJudge } from '../judges/dra-judge.ts';
import { SlicesJudge } from '../judges/slices-judge.ts';
import type { HostContext } from '../node/host-context.ts';
import { StateFiles } from '../placement/state-files.ts';
import type { SandboxTruth } from '../runtime/witness.ts';
import { AttachController } from './attach-controller.ts';
import { ClaimController } from './claim-controller.ts';
import { CsiDriverService } from './csi-driver-service.ts';
import { type CsiPlan, createCsiObjects } from './csi-plan.ts';
import { DraDriverService } from './dra-driver-service.ts';
import type { DraPlan } from './dra-plan.ts';
import { DriverFolder } from './driver-folder.ts';
import type { DriverService } from './driver-process.ts';
import type { HostDrivers } from './host-drivers.ts';
import { SlicePublisher } from './slice-publisher.ts';
import { SimulatedVolumeDisk } from './simulated-volume-disk.ts';

/** Where agents keep their files. It exists only in the simulation. */
export const SIMULATED_ROOT = '/simulated';

export interface DriversPlan {
  readonly csi: CsiPlan | undefined;
  readonly dra: DraPlan | undefined;
}

export interface HostDriversParts {
  readonly plan: DriversPlan;
  readonly api: SimulatedApiServer;
  /** Whether drivers may misbehave now. */
  readonly misbehaves: () => boolean;
  /** Whether an agent dies while it writes. */
  readonly mayDie: () => boolean;
  readonly killAgent: () => void;
  readonly runtime: () => { uids(): Iterable<string>; sandboxesOf(uid: string): Iterable<SandboxTruth> };
}

export function openHostDrivers(context: HostContext, parts: HostDriversParts): HostDrivers {
  const { random, clock, tell } = context;
  const { plan, misbehaves } = parts;
  const services: DriverService[] = [];
  const csi = plan.csi && openCsi(context, parts, plan.csi, services);
  const dra = plan.dra && openDra(context, parts, plan.dra, services, () => folder);
  const world = { random, misbehaves };
  const folder: DriverFolder = new DriverFolder({ services, world, clock, tell });
  return { folder, csi, dra };
}

function openCsi(
  { clock, random, pods, tally, violated }: HostContext,
  { api, misbehaves, mayDie, killAgent, runtime }: HostDriversParts,
  plan: CsiPlan,
  services: DriverService[],
): HostDrivers['csi'] {
  createCsiObjects(api, plan);
  const volumesOf = (filter: 'isStaging' | 'isAttached') =>
    plan.drivers
      .filter((driver) => driver[filter])
      .flatMap(({ name: driver, handles }) => handles.map((handle) => uniqueVolumeName({ driver, handle })));
  const judge: CsiJudge = new CsiJudge({
    disk: () => disk,
    podsDir: `${SIMULATED_ROOT}/pods`,
    staging: volumesOf('isStaging'),
    attachable: volumesOf('isAttached'),
    isAttached: (volume) => controller.isAttached(volume),
    specOf: (uid) => pods.specOf(uid),
    runtime,
    onPublished: () => (tally.volumesPublished += 1),
    violated: (uid, what) => violated({ invariant: 'csi', uid, what }),
  });
  const disk = new SimulatedVolumeDisk({ random, mayDie, killAgent, witness: judge });
  const onDetach = (volume: string) => judge.detached(volume);
  const controller: AttachController = new AttachController({
    plan,
    api,
    clock,
    random,
    misbehaves,
    onDetach,
  });
  services.push(...plan.drivers.map((driver) => new CsiDriverService(driver, disk, judge)));
  return { plan, disk, controller, judge };
}

function openDra(
  { clock, random, tally, violated }: HostContext,
  { api, misbehaves, mayDie, killAgent, runtime }: HostDriversParts,
  plan: DraPlan,
  services: DriverService[],
  folder: () => DriverFolder,
): HostDrivers['dra'] {
  const files = new StateFiles({ random: (key) => random(`dra/${key}`), mayDie, killAgent });
  const judge = new DraJudge({
    checkpoint: () => files.text(CLAIMS_FILE),
    runtime,
    onPrepared: () => (tally.claimsPrepared += 1),
    violated: (uid, what) => violated({ invariant: 'dra', uid, what }),
  });
  const onReserved = (claim: string, pod: string) => judge.reserved(claim, pod);
  new ClaimController({ plan, api, clock, random, misbehaves, onReserved });
  const service = new DraDriverService(plan.driver, judge);
  services.push(service);
  const isThere = () => folder().isThere(service);
  const publisher = new SlicePublisher({ driver: plan.driver, api, clock, isThere });
  const slices = new SlicesJudge({
    now: () => clock.now(),
    isPublished: () => publisher.isPublished,
    registeredAt: () => folder().registeredAt(service),
    isThere,
    goneAt: () => folder().goneAt(service),
    wasRegistered: () => folder().wasRegistered(service),
    isReachable: () => api.reachability === 'up',
    violated: (what) => violated({ invariant: 'dra', what: `${plan.driver}: ${what}` }),
  });
  api.store.changes.subscribe(({ resource, author, after }) => {
    if (resource === 'resourceslices' && author !== undefined && after === undefined) slices.deleted(author);
  });
  return { plan, files, judge, slices };
}
