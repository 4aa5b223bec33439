import { copiesPrefix, parseCopyName, type CopyName, type SegmentName, type SnapshotName } from './copy-name.ts'
import type { Target } from './target.ts'

type Named<T> = T & { name: string; origin: string; generation: string }

/** A generation of the copy: the database as it was at times, and all commits in between. */
export interface CopyGeneration {
  origin: string
  generation: string
  /** By number. */
  segments: Named<SegmentName>[]
  /** Oldest first. */
  snapshots: Named<SnapshotName>[]
}

/** What is stored of a generation. */
export async function listCopies(target: Target, prefix: string): Promise<Pick<CopyGeneration, 'segments' | 'snapshots'>> {
  const [found] = generationsIn((await target.list(prefix)).map(({ name }) => parseCopyName(name)))
  return found ?? { segments: [], snapshots: [] }
}

/** The generations of all data directories, oldest first. */
export async function allCopies(target: Target): Promise<CopyGeneration[]> {
  return generationsIn((await target.list(copiesPrefix)).map(({ name }) => parseCopyName(name)))
}

function generationsIn(names: (CopyName | null)[]): CopyGeneration[] {
  const found = new Map<string, CopyGeneration>()
  for (const each of names) {
    if (each === null) continue
    const { origin, generation } = each
    const key = `${origin}/${generation}`
    const its = found.get(key) ?? { origin, generation, segments: [], snapshots: [] }
    found.set(key, its)
    if (each.kind === 'segment') its.segments.push(each)
    else its.snapshots.push(each)
  }
  for (const { segments, snapshots } of found.values()) {
    segments.sort((one, other) => one.number - other.number)
    snapshots.sort((one, other) => one.at - other.at)
  }
  return [...found.values()].sort((one, other) => (one.generation < other.generation ? -1 : 1))
}

/** Whether the newest snapshot of a generation, or without one its beginning, is followed by every segment up to the last. */
export function isUnbroken({ segments, snapshots }: Pick<CopyGeneration, 'segments' | 'snapshots'>): boolean {
  const { number: first, until } = snapshots.at(-1) ?? { number: 1, until: 0 }
  const following = segments.filter(({ number }) => number >= first)
  const last = segments.at(-1)?.number ?? 0
  return following.every(({ number }, place) => number === first + place) && last >= until && last >= first - 1
}

/** Which files are not needed to restore any state since a time. The newest generation that can be restored stays, whatever its age. */
function copiesToRemove(generations: readonly CopyGeneration[], since: number): string[] {
  const newest = generations.findLastIndex(({ snapshots }) => snapshots.length > 0)
  return generations.flatMap(({ segments, snapshots }, place) => {
    const lastAt = Math.max(segments.at(-1)?.at ?? 0, snapshots.at(-1)?.at ?? 0)
    if (place < newest && lastAt < since) return [...snapshots, ...segments].map(({ name }) => name)
    const base = snapshots.findLast(({ at }) => at <= since) ?? snapshots[0]
    if (base === undefined) return []
    const old = snapshots.filter(({ at }) => at < base.at)
    // The last segment stays: the next one is added behind it.
    return [...old, ...segments.slice(0, -1).filter(({ number }) => number < base.number)].map(({ name }) => name)
  })
}

/** Removes what is not needed to restore any state since a time; only what this data directory stored. Snapshots go first. */
export async function pruneCopies(target: Target, origin: string, since: number): Promise<void> {
  const ours = (await allCopies(target)).filter((generation) => generation.origin === origin)
  for (const name of copiesToRemove(ours, since)) await target.remove(name)
}
